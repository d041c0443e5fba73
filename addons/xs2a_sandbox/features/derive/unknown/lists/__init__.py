"""Lists in answers: entries, filters, pages, and the balances that payments change."""

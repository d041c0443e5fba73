"""The pages behind `scaRedirect`, on which the payment user logs in, approves or declines."""

"""The bank's own knowledge of payments, accounts and consents: states, rights, days, movements, signatures.

`lifecycle` has the states, `signing` moves by them, `access` tells a consent's rights, `schedule` the days of a payment
and `bookings` what has been moved by now. Handlers stand on it.
"""

"""The domain of payments, accounts and consents: states, rights, days, movements, signatures.

`lifecycle` defines the states, `signing` changes them, `access` reads the rights of a consent, `schedule` computes the
days of a payment, and `bookings` what has been booked so far. Handlers are built on these modules.
"""

"""The pages behind `scaRedirect` and `scaOAuth`, on which the payment user logs in, approves or declines."""

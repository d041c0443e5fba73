"""The pages behind `scaRedirect` and `scaOAuth`, on which the payment user logs in and approves or declines."""

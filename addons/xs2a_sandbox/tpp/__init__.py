"""Third party providers (TPPs) and their certificates: reading certificates, judging them like a bank, and a test trust
service that issues valid and invalid ones.
"""

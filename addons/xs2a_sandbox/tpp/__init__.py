"""Third party providers (TPPs) and their certificates: what a certificate says, what banks refuse of it, and a test
trust service that issues such certificates, good ones and bad ones.
"""

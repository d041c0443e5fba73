"""Signatures of messages with a seal (QSEAL), as defined by the Berlin Group: the header Signature, and JWS.

`verification` finds the mistake in the signature of a request or answer, and what was signed instead; `signing` signs
messages. `dpop` reads the proofs for keys to which tokens are bound.
"""

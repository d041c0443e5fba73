"""Signatures of messages with a seal (QSEAL), as Berlin Group has them: the header Signature, and JWS.

`verification` says what is wrong with that of a request or an answer, and what was signed instead; `signing` makes it.
`dpop` reads the proofs of the keys that tokens are bound to.
"""

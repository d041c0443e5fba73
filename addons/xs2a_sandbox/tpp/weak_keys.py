"""Detects keys that no bank accepts, because their private key can be computed."""

from cryptography.hazmat.primitives.asymmetric import rsa

SMALLEST_RSA = 2048
_ROCA_PRIMES = (
    *(3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97),
    *(101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167),
)
_ROCA_REMAINDERS = {prime: {pow(65537, power, prime) for power in range(prime - 1)} for prime in _ROCA_PRIMES}


def rsa_weakness(key: rsa.RSAPublicKey) -> str | None:
    """Describe why no bank accepts the key, to complete a sentence that starts with "the key"."""
    if key.key_size < SMALLEST_RSA:
        return f"has {key.key_size} bits; {SMALLEST_RSA} or more are needed"
    modulus = key.public_numbers().n
    # Every modulus from a defective smart card is a power of 65537 modulo small primes (CVE-2017-15361).
    if all(modulus % prime in remainders for prime, remainders in _ROCA_REMAINDERS.items()):
        return "can be factored: the device that made it is known for weak keys (ROCA, CVE-2017-15361)"
    return None

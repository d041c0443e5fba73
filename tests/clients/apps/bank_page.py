"""The customer's part of a connection, and a private key for the app."""

import httpx
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def approve(url):
    """Approve on the bank's page, and return the address to which the browser returns."""
    with httpx.Client(trust_env=False) as browser:
        page = browser.get(f"{url}&decide=approve")
        return browser.get(page.request.url.join(page.headers["location"])).headers["location"]


def new_key():
    key = rsa.generate_private_key(65537, 2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

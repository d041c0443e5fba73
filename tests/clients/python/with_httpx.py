"""The sequence of requests with httpx."""

import os
import ssl

import httpx
from walk import walk

trust = ssl.create_default_context(cafile=os.environ.get("CA_FILE"))
if certificate := os.environ.get("CLIENT_CERT"):
    trust.load_cert_chain(certificate, os.environ["CLIENT_KEY"])
http2 = os.environ.get("HTTP_VERSION") == "2"
options = {"base_url": os.environ["BASE_URL"], "verify": trust, "http2": http2}
if proxy := os.environ.get("PROXY"):
    options["proxy"] = proxy


def send(client, method, path, headers, body):
    response = client.request(method, path, headers=headers, content=body)
    return {"status": response.status_code, "version": response.http_version, "body": response.json()}


def send_on_new_connection(*request):
    with httpx.Client(**options) as client:
        return send(client, *request)


with httpx.Client(**options) as client:
    walk(lambda *request: send(client, *request), send_on_new_connection)

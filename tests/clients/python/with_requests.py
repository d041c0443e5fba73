"""The sequence of requests with requests."""

import os

import requests
from walk import walk

options = {}
if ca_file := os.environ.get("CA_FILE"):
    options["verify"] = ca_file
if proxy := os.environ.get("PROXY"):
    options["proxies"] = {"http": proxy, "https": proxy}
if certificate := os.environ.get("CLIENT_CERT"):
    options["cert"] = (certificate, os.environ["CLIENT_KEY"])


def send(method, path, headers, body, client=requests):
    response = client.request(method, os.environ["BASE_URL"] + path, headers=headers, data=body, **options)
    return {"status": response.status_code, "version": response.raw.version, "body": response.json()}


with requests.Session() as session:
    walk(lambda *request: send(*request, client=session), send)

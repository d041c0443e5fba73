"""The walk with aiohttp."""

import asyncio
import os
import ssl

import aiohttp
from walk import walk

trust = ssl.create_default_context(cafile=os.environ.get("CA_FILE"))
if certificate := os.environ.get("CLIENT_CERT"):
    trust.load_cert_chain(certificate, os.environ["CLIENT_KEY"])
options = {"ssl": trust}
if proxy := os.environ.get("PROXY"):
    options["proxy"] = proxy


async def send(session, method, path, headers, body):
    url = os.environ["BASE_URL"] + path
    async with session.request(method, url, headers=headers, data=body, **options) as response:
        version = f"{response.version.major}.{response.version.minor}"
        return {"status": response.status, "version": version, "body": await response.json()}


async def send_anew(*request):
    async with aiohttp.ClientSession() as session:
        return await send(session, *request)


async def main():
    # The walk is not asynchronous; it runs beside the loop.
    loop = asyncio.get_running_loop()

    def waiting(send):
        return lambda *request: asyncio.run_coroutine_threadsafe(send(*request), loop).result()

    async with aiohttp.ClientSession() as session:
        await asyncio.to_thread(walk, waiting(lambda *request: send(session, *request)), waiting(send_anew))


asyncio.run(main())

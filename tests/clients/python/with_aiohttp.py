"""The sequence of requests with aiohttp."""

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


async def send_on_new_connection(*request):
    async with aiohttp.ClientSession() as session:
        return await send(session, *request)


async def main():
    # The sequence is synchronous, so it runs in a thread next to the event loop.
    loop = asyncio.get_running_loop()

    def waiting(send):
        return lambda *request: asyncio.run_coroutine_threadsafe(send(*request), loop).result()

    async with aiohttp.ClientSession() as session:
        here = waiting(lambda *request: send(session, *request))
        await asyncio.to_thread(walk, here, waiting(send_on_new_connection))


asyncio.run(main())

"""The ways in: the proxy and TLS doors on mitmproxy, the direct door on uvicorn, and one loop that serves them all."""

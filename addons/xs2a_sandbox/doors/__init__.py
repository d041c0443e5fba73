"""The ways in: proxy and TLS doors on mitmproxy, the direct door on httptools, and one loop that serves them all."""

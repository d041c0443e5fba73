"""The ways in: proxy and TLS door on mitmproxy, the direct door on httptools, and the loop that serves all doors."""

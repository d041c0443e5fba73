"""Makes recordings from files of other tools: HAR, mitmproxy's flows, Postman collections, WireMock's mappings."""

"""Make recordings of what other tools keep: HAR files, mitmproxy's flows, Postman collections, WireMock's mappings."""

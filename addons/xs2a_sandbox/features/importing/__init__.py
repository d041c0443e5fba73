"""Makes recordings, rules and dialects from files of other tools: HAR, mitmproxy, Postman, WireMock, curl, OpenAPI."""

"""Helps authors of cassettes: `lint`, examples, `new-case`, coverage, the OpenAPI document, `init`."""

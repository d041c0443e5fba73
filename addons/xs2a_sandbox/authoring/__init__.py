"""What helps an author of cassettes: `lint`, examples, `new-case`, coverage, the OpenAPI document, `init`."""

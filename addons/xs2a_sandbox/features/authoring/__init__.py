"""Helps authors of cassettes: `lint`, examples, `new-case`, coverage, `init`."""

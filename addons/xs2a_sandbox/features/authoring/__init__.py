"""Tools for authors of cassettes: `lint`, examples, `new-case`, coverage, `init`."""

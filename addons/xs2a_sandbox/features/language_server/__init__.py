"""A language server for cassettes, test data and settings: problems, completion, descriptions and definitions."""

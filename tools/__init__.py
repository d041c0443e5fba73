"""Programs that developers and CI run in addition to the tests: mutation checks, and generators of pages of docs/."""

"""Values of cassettes: expressions, limits on their work, and comparison of values."""

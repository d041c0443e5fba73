"""Values as cassettes write them: expressions, the limit to their work, and values held against each other."""

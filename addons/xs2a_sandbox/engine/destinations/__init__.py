"""All that can answer a request, each with the explanation of its answer beside it."""

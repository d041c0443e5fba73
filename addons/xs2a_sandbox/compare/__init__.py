"""Says where two answers, recordings or banks differ, and whether it matters."""

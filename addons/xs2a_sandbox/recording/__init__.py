"""Records what a real bank answers, derives cassettes from it, and replays it."""

"""Writes down what a real bank says, derives cassettes from it, and plays it back."""

"""What is run by hand and by CI around the tests: the mutation checks, and what writes pages of docs/."""

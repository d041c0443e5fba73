"""Several processes behind the same ports: workers, and a supervisor that hands connections over to them."""

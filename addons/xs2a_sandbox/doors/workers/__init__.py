"""Several processes behind the same ports: who begins them and hands over connections, and one of them."""

"""When a bank gives each answer: conditions that hold for these requests and for no others."""

"""The operations of an interface, and the things that it makes, such as consents and payments."""

"""Test certificates and signatures for who has none: the commands `tpp`, `sign` and `verify`."""

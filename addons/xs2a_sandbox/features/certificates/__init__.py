"""Test certificates and signatures for users without any: the commands `tpp`, `sign` and `verify`."""

"""Other libraries behind one interface each, so that a benchmark can call them in turn."""

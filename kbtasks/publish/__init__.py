"""A static site or graph page from a chosen slice of the vault."""

"""The log of a server: what it has predicted, and which labels came."""

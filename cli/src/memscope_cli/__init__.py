"""The program ``memscope``: commands, a chat at the terminal, and a demonstration."""

"""The command line program ``memscope``: commands, a chat, and a demo."""

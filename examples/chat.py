"""An assistant that remembers, in ten lines. It needs a chat model: docs/models.md says what to set."""

from memscope import MemoryScope

with MemoryScope() as memory:
    memory.admin.start()  # extract memories in the background
    while text := input("you> "):
        for piece in memory.chat(text, user="me"):
            print(piece, end="", flush=True)
        print()

"""``python -m memscope``."""

from memscope.cli import main

if __name__ == "__main__":
    main()

"""The program ``memscope``, also ``python -m memscope``: it lives in the distribution memscope-cli."""

import sys

from memscope.errors import install_hint

CONFIGURATION_ERROR = 3  # the program's exit code for an incomplete installation


def main() -> None:
    try:
        from memscope_cli.app import main as program
    except ModuleNotFoundError as error:
        if error.name != "memscope_cli":
            raise
        print(f"memscope: the command line is not installed ({install_hint('cli')})", file=sys.stderr)
        sys.exit(CONFIGURATION_ERROR)
    program()


if __name__ == "__main__":
    main()

"""`python -m llmphases` is the command `llmphases`."""

import sys

from llmphases.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

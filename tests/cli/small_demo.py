"""`llmphases demo` with little work; what follows is its arguments. For tests of the command."""

from __future__ import annotations

import sys

from llmphases.cli import demo_story

demo_story.UNITS = 24
demo_story.STARTUP_S = 1.0
demo_story.PROMPT_S = 2.0
demo_story.FIXED_S = 3.0
demo_story.PER_UNIT_S = 0.25

if __name__ == "__main__":
    from llmphases.cli.main import main

    sys.exit(main(["demo", "--scale", "20", *sys.argv[1:]]))

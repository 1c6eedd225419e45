"""`python -m leastaction`: the command line."""

from leastaction.cli import app

if __name__ == "__main__":
    app(prog_name="leastaction")

"""Settings that must be made before leastaction is imported."""

import os

os.environ["LEASTACTION_QUIET"] = "1"

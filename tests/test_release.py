"""What a release is made of fits together: versions, dependencies, workflows."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NOTES = ROOT / "tools" / "release_notes.py"


def notes(tag):
    return subprocess.run([sys.executable, str(NOTES), tag], capture_output=True, text=True)


def test_all_files_say_the_same_version():
    """A tag of that version lacks nothing but its section in the changelog, which a release makes."""
    done = notes(f"v{PROJECT['version']}")
    assert done.returncode == 0 or "no section" in done.stderr, done.stderr


def test_another_tag_is_refused():
    done = notes("v99.0.0")
    assert done.returncode == 1
    assert f"pyproject.toml {PROJECT['version']}" in done.stderr


def test_the_recipe_of_conda_forge_has_the_dependencies_of_the_package():
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8"))
    run = {re.sub(r"\s", "", line) for line in recipe["requirements"]["run"]}
    assert run == {*PROJECT["dependencies"], "python>=${{python_min}}"}
    assert PROJECT["requires-python"] == f">={recipe['context']['python_min']}"


def test_workflows_are_yaml_and_pin_their_actions():
    yaml = pytest.importorskip("yaml")
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        flow = yaml.safe_load(path.read_text("utf-8"))
        assert flow["permissions"] == {"contents": "read"}, path.name
        uses = re.findall(r"uses: (\S+)", path.read_text("utf-8"))
        assert all("@" in name or name.startswith("./") for name in uses), path.name

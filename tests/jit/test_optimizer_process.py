"""Half of a compilation is done by another process: what comes out is the same with it, without it, and if it dies."""

import os

import pytest

from tests.jit.test_jit import demo
from tests.jit.test_jit_parts import family, read_part, told

__all__ = ["demo", "family"]

VALUE = repr(16.0 + 3.0**0.5)

BESIDE = "import demo._jit.hooks.optimizer_process as beside\nbeside._cores = lambda: 2\n"
"""This machine is to have two cores."""

ASKED = "print(beside._current is not None and beside._current.answered)"


@pytest.fixture(autouse=True)
def _two_processes(monkeypatch):
    monkeypatch.setenv("LEASTACTION_ONE_PROCESS", "0")


def machine_codes(family):
    folder = family / "cache" / "parts"
    return {file.name: read_part(file).code for file in folder.iterdir()}


def test_machine_code_is_the_same_with_one_process_and_with_two(family):
    assert told(BESIDE + f"print(big.first(3.0))\n{ASKED}", family)[:2] == [VALUE, "True"]
    both = machine_codes(family)
    (family / "cache").rename(family / "away")
    alone = told(BESIDE + f"print(big.first(3.0))\n{ASKED}", family, LEASTACTION_ONE_PROCESS="1")
    assert alone[:2] == [VALUE, "False"]
    assert any(both.values())
    assert machine_codes(family) == both


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_a_compilation_goes_on_where_the_other_process_was_killed(family, after):
    """After so many calls. What it did not answer is done here, and the kernel is kept."""
    code = f"""
calls, true = [], beside._Process.call
def call(self, *arguments):
    calls.append(arguments)
    if len(calls) == {after} + 1:
        self._process.kill()
        self._process.wait()
    return true(self, *arguments)
beside._Process.call = call
print(big.first(3.0))
"""
    assert told(BESIDE + code, family)[0] == VALUE
    assert told("print(big.second(3.0))", family) == [repr(24.0 + 6.0**0.5), "['second']"]


@pytest.mark.parametrize("program", ["/bin/false", "/nowhere/python", ""])
def test_a_process_that_does_not_start_is_done_without(family, program):
    code = f"import sys\nsys.executable = {program!r}\nprint(big.first(3.0))\nprint(big.second(3.0))\n"
    assert told(BESIDE + code, family)[:2] == [VALUE, repr(24.0 + 6.0**0.5)]


def test_a_frozen_program_is_not_started_once_more(family):
    code = "import sys\nsys.frozen = True\nprint(big.first(3.0))\n" + ASKED
    assert told(BESIDE + code, family)[:2] == [VALUE, "False"]


def test_a_process_that_makes_other_code_is_not_used(family):
    code = "beside.made_for = lambda codegen: None\nprint(big.first(3.0))\n" + ASKED
    assert told(BESIDE + code, family)[:2] == [VALUE, "False"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_has_a_process_of_its_own(family):
    code = f"""
import os
print(big.first(3.0), flush=True)
first = beside._current
if os.fork() == 0:
    print(big.first(3) == {16.0 + 3.0**0.5!r}, beside._current is not first, flush=True)
    os._exit(0)
os.wait()
"""
    assert told(BESIDE + code, family)[:2] == [VALUE, "True True"]


def test_it_ends_with_the_process_that_asked(family):
    code = "print(big.first(3.0))\nprint(beside._current._process.pid)"
    pid = int(told(BESIDE + code, family)[1])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)

"""Errors say where and what, survive a trip between processes, and name the extra to install."""

import pickle
import sys
from pathlib import Path

import pytest

from leastaction import errors
from leastaction._extras import require
from leastaction.errors import ConvergenceError, FormatError, LeastActionError, MissingExtraError


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_a_least_action_error_with_a_docstring(name):
    error = getattr(errors, name)
    assert issubclass(error, UserWarning if name.endswith("Warning") else LeastActionError)
    assert error.__doc__


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "mass is negative"),
        ({"file": "arm.urdf"}, "arm.urdf: mass is negative"),
        ({"line": 7}, "line 7: mass is negative"),
        ({"file": Path("arm.urdf"), "line": 7}, "arm.urdf:7: mass is negative"),
        (
            {"file": "arm.urdf", "line": 7, "element": 'link "hand"'},
            'arm.urdf:7: link "hand": mass is negative',
        ),
    ],
)
def test_format_error_puts_the_place_before_the_message(place, text):
    assert str(FormatError("mass is negative", **place)) == text


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({}, "no convergence"),
        ({"step": 0, "time": 0.0}, "step 0, t = 0 s: no convergence"),
        ({"residuals": [1.0, 0.5]}, "no convergence (residual 1 → 0.5 in 1 iteration)"),
        (
            {"step": 12, "time": 0.12, "residuals": [1.0, 0.25, 0.125]},
            "step 12, t = 0.12 s: no convergence (residual 1 → 0.125 in 2 iterations)",
        ),
    ],
)
def test_convergence_error_tells_the_step_and_the_residuals(facts, text):
    assert str(ConvergenceError("no convergence", **facts)) == text


@pytest.mark.parametrize(
    "error",
    [
        FormatError("bad", file="arm.urdf", line=7, element='link "hand"'),
        ConvergenceError("bad", time=0.5, step=50, residuals=[1.0, 2.0], trajectory=[[0.0]]),
        MissingExtraError("bad", name="daqp", extra="qp"),
    ],
)
def test_attributes_and_text_survive_pickling(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
    assert getattr(copy, "name", None) == getattr(error, "name", None)


def test_require_returns_the_module_itself():
    assert require("os.path", "none") is sys.modules["os.path"]


@pytest.mark.parametrize("module", ["no_such_module", "no_such_module.part"])
def test_require_names_the_command_that_installs_the_extra(module):
    with pytest.raises(MissingExtraError, match=r'pip install "leastaction\[view\]"') as caught:
        require(module, "view")
    assert caught.value.name == "no_such_module"
    assert caught.value.extra == "view"
    assert isinstance(caught.value, ImportError)


def test_require_does_not_blame_the_extra_for_a_broken_install(tmp_path, monkeypatch):
    (tmp_path / "installed_but_broken.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency") as caught:
        require("installed_but_broken", "view")
    assert not isinstance(caught.value, MissingExtraError)

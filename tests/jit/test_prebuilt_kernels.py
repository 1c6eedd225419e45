"""Kernels that come with a wheel are loaded where they fit, and nowhere else."""

import json
import shutil

import llvmlite.binding as llvm
import pytest
from numba.core import config

from leastaction._jit.prebuilt import fits, prebuilt_target
from tests.jit.test_jit import CALL, demo, python  # noqa: F401  (the fixture)

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

TARGET = ("x86_64-unknown-linux-gnu", "x86-64-v3", "+avx2,+fma")

# Compiles for a common level, and keeps the kernel where a wheel has them.
BUILD = """
import json, pathlib, shutil, demo
from numba.core.registry import cpu_target
from demo.big import answer
answer(3.0)
from demo._jit import cache_directory
from demo._jit.hooks.kernel_cache import without_bitcode
sizes = [file.stat().st_size for file in cache_directory().glob("*.nbc")]
for file in cache_directory().glob("*.nbc"):
    file.write_bytes(without_bitcode(file.read_bytes()))
assert sum(file.stat().st_size for file in cache_directory().glob("*.nbc")) < 0.7 * sum(sizes)
folder = pathlib.Path(demo.__file__).parent / "_kernels"
shutil.copytree(cache_directory(), folder)
(folder / "target.json").write_text(json.dumps(cpu_target.target_context.codegen().magic_tuple()))
"""


def test_code_runs_on_processors_with_all_its_features():
    assert fits(TARGET, TARGET[0], {"avx2": True, "fma": True, "avx512f": True})
    assert not fits(TARGET, TARGET[0], {"avx2": True, "fma": False})
    assert not fits(TARGET, TARGET[0], {"avx2": True})
    assert not fits(TARGET, "arm64-apple-darwin", {"avx2": True, "fma": True})


def test_code_runs_on_all_versions_of_macos():
    mac = ("arm64-apple-darwin23.1.0", "apple-m1", "")
    assert fits(mac, "arm64-apple-darwin24.5.0", {})
    assert not fits(mac, "x86_64-apple-darwin23.1.0", {})


@pytest.mark.parametrize("content", ["", "not json", "[1, 2]", "{}"])
def test_damaged_descriptions_are_as_good_as_none(tmp_path, content):
    (tmp_path / "target.json").write_text(content)
    assert prebuilt_target(tmp_path) is None


def test_no_description_no_kernels(tmp_path):
    assert prebuilt_target(tmp_path) is None


def test_the_description_of_this_very_machine_fits(tmp_path, monkeypatch):
    monkeypatch.delenv("LEASTACTION_SHIPPED", raising=False)
    features = ",".join(f"+{name}" for name, has in llvm.get_host_cpu_features().items() if has)
    target = (llvm.get_process_triple(), "some", features)
    (tmp_path / "target.json").write_text(json.dumps(target))
    assert prebuilt_target(tmp_path) == target


@pytest.fixture
def wheel(demo):  # noqa: F811
    """The package of test_jit with a kernel for a lesser processor than this one, and an empty cache of the user."""
    python(BUILD, demo, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
    shutil.rmtree(demo / "cache")
    return demo


def _compiles(root, **environment):
    """Whether a call compiles anything."""
    out, err = python(CALL, root, **environment)
    assert out == "8.0"
    return "compiled answer" in err


def test_what_fits_is_loaded_and_nothing_is_written(wheel):
    before = sorted(path.stat().st_mtime_ns for path in (wheel / "demo" / "_kernels").iterdir())
    assert not _compiles(wheel)
    assert not (wheel / "cache").exists()
    assert before == sorted(path.stat().st_mtime_ns for path in (wheel / "demo" / "_kernels").iterdir())


USERS = """
import numba
from demo.big import answer, twice
@numba.njit(cache=True)
def twofold(x):
    return answer(x) + twice(x)
print(twofold(3.0), answer(3.0))
"""


def test_functions_of_users_call_kernels_of_a_wheel_in_each_process(wheel):
    """Numba must not keep what calls a kernel by its name: another process may not have it."""
    (wheel / "users.py").write_text(USERS)
    for _ in range(2):
        out, err = python("import users", wheel)
        assert out == "16.0 8.0", err
        assert "compiled answer" not in err


def test_what_does_not_fit_is_compiled(wheel):
    assert _compiles(wheel, LEASTACTION_SHIPPED="0")
    shutil.rmtree(wheel / "cache")
    target = wheel / "demo" / "_kernels" / "target.json"
    triple, processor, _ = json.loads(target.read_text())
    target.write_text(json.dumps((triple, processor, "+no_such_feature")))
    assert _compiles(wheel)


def test_damaged_kernels_are_compiled(wheel):
    for file in (wheel / "demo" / "_kernels").glob("*.nbc"):
        file.write_bytes(file.read_bytes()[:100])
    assert _compiles(wheel)
    assert not _compiles(wheel)  # by the user's cache


def test_kernels_of_another_numba_are_not_taken(wheel):
    code = "import numba; numba.__version__ = '0.0'; " + CALL
    out, err = python(code, wheel)
    assert out == "8.0"
    assert "compiled answer" in err

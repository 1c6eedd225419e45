"""Counts the scalar operations of kernels: runs them as plain Python whose sums and products are counted.

Must be started before the package is imported, with NUMBA_DISABLE_JIT=1 (`counted` does that in a process of its own).
Modules of the package are rewritten as they are imported: a + b becomes a call of the counter. Only operations on
numbers that are not integers count; comparisons, calls of math functions and copies do not, nor what the package's own
sine and cosine take.
"""

import ast
import importlib.machinery
import json
import operator
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

PACKAGE = "leastaction"
SILENT = "leastaction.spatial.angles"
NAMES = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv"}
KINDS = {"add": "additions", "sub": "additions", "mul": "multiplications", "truediv": "divisions"}


class Counter:
    """Numbers of operations so far."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.additions = self.multiplications = self.divisions = 0

    def tell(self, name, a, b):
        """Count an operation on these; the result is another's affair."""
        if isinstance(a, float) or isinstance(b, float):
            size = 1
        elif isinstance(a, np.ndarray):
            size = a.size
        else:
            return
        kind = KINDS[name]
        setattr(self, kind, getattr(self, kind) + size)

    def plain(self, name, a, b):
        """a (operation) b."""
        self.tell(name, a, b)
        return getattr(operator, name)(a, b)

    def in_place(self, name, a, b):
        """What a becomes by a (operation)= b."""
        self.tell(name, a, b)
        return getattr(operator, f"i{name}")(a, b)


tell = Counter()


def told(how, op, a, b):
    """The call of the counter for an operation."""
    function = ast.Attribute(ast.Name("__tell__", ast.Load()), how, ast.Load())
    return ast.Call(function, [ast.Constant(NAMES[type(op)]), a, b], [])


class Telling(ast.NodeTransformer):
    """Operations become calls of the counter."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if type(node.op) not in NAMES:
            return node
        return ast.copy_location(told("plain", node.op, node.left, node.right), node)

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        if type(node.op) not in NAMES:
            return node
        # Targets of kernels are names and items whose indices have no effects, so they may be read twice.
        source = ast.parse(ast.unparse(node.target), mode="eval").body
        source = self.visit(source) if isinstance(source, ast.Subscript | ast.Attribute) else source
        return ast.copy_location(ast.Assign([node.target], told("in_place", node.op, source, node.value)), node)

    def visit_AnnAssign(self, node):
        return node

    def visit_arguments(self, node):
        return node


class Loader(importlib.machinery.SourceFileLoader):
    """Reads modules of the package through `Telling`."""

    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.path), self.path)

    def source_to_code(self, data, path, *, _optimize=-1):
        tree = ast.fix_missing_locations(Telling().visit(ast.parse(data)))
        return compile(tree, path, "exec", dont_inherit=True)

    def exec_module(self, module):
        module.__dict__["__tell__"] = tell
        super().exec_module(module)


class Finder(importlib.machinery.PathFinder):
    """Finds them."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        spec = super().find_spec(fullname, path, target)
        if spec and spec.origin and fullname.split(".")[0] == PACKAGE and spec.origin.endswith(".py"):
            if fullname == SILENT:
                return None
            spec.loader = Loader(fullname, spec.origin)
            return spec
        return None


def install():
    """From now on imports of the package count."""
    if PACKAGE in sys.modules:
        raise RuntimeError(f"{PACKAGE} was imported before")
    sys.meta_path.insert(0, Finder)


def counted(module, *arguments):
    """What `python -m module arguments` prints as JSON, with kernels as plain Python."""
    root = Path(__file__).parents[1]
    path = os.pathsep.join(filter(None, (str(root / "src"), str(root), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)], cwd=root, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)

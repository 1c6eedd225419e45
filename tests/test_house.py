"""How the package is built: which part imports which."""

import ast
import io
import re
import tokenize
from collections import Counter
from pathlib import Path

import pytest

import leastaction as la

SOURCE = Path(la.__file__).parent


def part(path):
    """The folder or module below `leastaction` that a file belongs to."""
    first, *rest = path.relative_to(SOURCE).parts
    return first if rest else first.removesuffix(".py")


def imports(tree):
    """Dotted names that a module imports anywhere, lazily too, but for those that only type checkers see."""
    unseen = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if function == "import_module":
                yield str(node.args[0].value)


def package_graph():
    """For each part of the package the parts that it imports."""
    files = sorted(SOURCE.rglob("*.py"))
    parts = {part(path) for path in files} - {"__init__"}
    graph = {name: set() for name in parts}
    for path in files:
        own = part(path)
        for name in imports(ast.parse(path.read_text(encoding="utf-8"))):
            first, *rest = name.split(".")
            if own in parts and first == "leastaction" and rest and rest[0] in parts and rest[0] != own:
                graph[own].add(rest[0])
    return graph


def cycles(graph):
    """Groups of parts that all reach each other."""
    reach = {a: set(b) for a, b in graph.items()}
    grown = True
    while grown:
        grown = False
        for near in reach.values():
            far = set().union(*(reach[b] for b in near)) - near
            grown = grown or bool(far)
            near |= far
    return {frozenset(b for b in near if a in reach[b]) for a, near in reach.items() if a in near}


def test_parts_import_each_other_in_one_direction():
    assert cycles(package_graph()) == set()


def module_graph():
    """For each module those of the package that it imports, relative ones and lazy ones too."""
    files = {
        ".".join(["leastaction", *path.relative_to(SOURCE).with_suffix("").parts]): path
        for path in SOURCE.rglob("*.py")
    }
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}
    graph = {}
    for name, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                above = name.split(".") + [""] * (path.name == "__init__.py")
                node.module = ".".join([*above[: -node.level], *([node.module] if node.module else [])])
        read = {part if part in files else part.rpartition(".")[0] for part in imports(tree)}
        graph[name] = (read & files.keys()) - {name}
    return graph


def test_modules_import_each_other_in_one_direction():
    """But for methods that hand on to what makes their class: `Mechanism.edit`, `Problem.solve`, `Solution.save`."""
    owners = {"mechanism.mechanism", "optimize.problem.problem", "optimize.solution.solution"}
    found = cycles(module_graph())
    assert all({f"leastaction.{name}" for name in owners} & group for group in found), found
    assert len(found) == len(owners)


def test_kinematics_lie_below_forces_and_these_below_dynamics():
    graph = package_graph()
    assert not {"forces", "dynamics"} & graph["kinematics"]
    assert "dynamics" not in graph["forces"]


def test_derivatives_know_no_formulation():
    """They speak to steppers through one interface."""
    formulations = {"minimal", "maximal", "redmax", "explicit", "collocation"}
    graph = package_graph()
    assert not formulations & graph["derivatives"]
    assert not any("derivatives" in graph[name] for name in formulations)


def test_nothing_outside_formulations_names_one():
    """But for kernels of batches, which are compiled from theirs, and what compiles all of them ahead."""
    formulations = {"minimal", "maximal", "redmax", "explicit", "collocation"}
    named = {name for name, others in package_graph().items() if formulations & others}
    assert named - formulations <= {"_warmup", "batch"}


@pytest.mark.parametrize("text", ["import leastaction.b", "def f():\n    from leastaction.b import c"])
def test_lazy_imports_count(text):
    assert any(name.startswith("leastaction.b") for name in imports(ast.parse(text)))


def test_cycles_are_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {frozenset("abc")}


def many_arguments(tree, most=9):
    """Names of functions that take more positional arguments than `most`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
            if len(names) - (names[:1] in (["self"], ["cls"])) > most:
                yield node.name


def test_functions_take_bundles():
    """Whoever needs ten things gives them names; arguments of commands are options with names of their own."""
    files = [path for path in SOURCE.rglob("*.py") if part(path) != "cli"]
    found = {path: [*many_arguments(ast.parse(path.read_text(encoding="utf-8")))] for path in files}
    assert not {path: functions for path, functions in found.items() if functions}
    assert [*many_arguments(ast.parse("def f(a, b, c, d, e, f, g, h, i, j): ..."))] == ["f"]


def test_bisection_stands_in_one_place():
    """Whoever bisects a step calls `step_control.bisection`: nobody else counts halves of steps, or halves again."""
    halves = re.compile(r"2 \* (parts?|substeps?)\b(?!\.)|\b(parts?|substeps?) // 2|\b(parts?|substeps?) % 2")
    found = {path for path in SOURCE.rglob("*.py") if halves.search(path.read_text("utf-8"))}
    assert [path.relative_to(SOURCE).as_posix() for path in found] == ["step_control/bisection.py"]


@pytest.mark.parametrize(
    ("law", "home"),
    [
        ("is_balanced|largest_gain", "step_control/energy_balance.py"),
        ("time_of_impact|next_end|returned_share", "contact/laws/restitution.py"),
        ("strides_of|too_deep", "contact/laws/tunnelling.py"),
    ],
)
def test_laws_of_both_contact_engines_stand_once(law, home):
    """Each is written once, and both engines call it."""
    files = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    assert [name for name, text in files.items() if re.search(rf"def ({law})\(", text)] == [home]
    users = {name.split("/")[0] for name, text in files.items() if re.search(rf"\b({law})\(", text)}
    assert users >= {"maximal", "minimal"}


def test_record_types_have_names_of_their_own():
    names = Counter(
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r"^(\w+) = np\.dtype\(", path.read_text("utf-8"), re.M)
    )
    assert len(names) > 20
    assert not [name for name, count in names.items() if count > 1]


def test_bundles_are_read_by_name():
    """Numbers in place of names tell nothing: `model.bodies`, not `model[4]`; entry points alone take plain tuples."""
    bundles = {"model", "data", "settings", "work", "forces", "contact", "closure", "system", "memory"}
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            kernel = isinstance(node, ast.FunctionDef) and any(
                getattr(getattr(d, "func", d), "id", "") in ("inline", "routine", "entry") for d in node.decorator_list
            )
            if kernel and not node.name.startswith("named_"):
                found += [
                    f"{path.name}: {ast.unparse(part)}"
                    for part in ast.walk(node)
                    if isinstance(part, ast.Subscript)
                    and isinstance(part.value, ast.Name)
                    and part.value.id in bundles & {a.arg for a in node.args.args}
                    and isinstance(part.slice, ast.Constant)
                ]
    assert not found


def test_public_names_that_the_code_reads_exist():
    """`la.NAME` anywhere in the package, the benchmarks, tools and examples is a name that leastaction has."""
    root = Path(__file__).parents[1]
    missing = [
        f"{path}:{node.lineno}: {node.attr}"
        for folder in (SOURCE, *(root / name for name in ("benchmarks", "tools", "examples")))
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("la", "leastaction")
        and not hasattr(la, node.attr)
    ]
    assert not missing


def prose_and_names(folder):
    """(file, text) of docstrings and comments, and all words that code and its strings have."""
    texts, names = [], set()
    for path in folder.rglob("*.py"):
        names |= set(path.with_suffix("").parts)
        source = path.read_text(encoding="utf-8")
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT or token.string.startswith(('"""', 'r"""')):
                texts.append((path, token.string))
            elif token.type in (tokenize.NAME, tokenize.STRING):
                names |= set(re.findall(r"\w+", token.string))
    return texts, names


def test_names_in_docstrings_exist():
    """`a_name` or `module.name` in a docstring or comment is one that the code has: renames take them along."""
    texts, names = prose_and_names(SOURCE)
    names |= prose_and_names(Path(__file__).parent)[1]  # scenes on which numbers were measured
    missing = {
        f"{path.name}: {name}"
        for path, text in texts
        for name in re.findall(r"`([A-Za-z_][\w.]*[A-Za-z0-9])(?:\([^`]*\))?`", text)
        if "_" in name and not name.startswith("mju_") and not set(name.split(".")) <= names
    }
    assert missing <= {f"{file}: Codegen.magic_tuple" for file in ("gpu_store.py", "kernel_cache.py")}

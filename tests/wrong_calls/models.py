"""The zoo and files of robots, called wrongly."""

import importlib.util
import inspect
import tempfile
from pathlib import Path

import leastaction as la
from tests.wrong_calls.kinds import HUGE, NAN, ODD, ROBOT, Call, no_vector


def robots():
    """The zoo, by introspection: the default of a parameter tells its kind."""
    r = la.robots
    kinds = {bool: "flag", float: "number", str: "choice"}
    for name in r.__all__:
        function = getattr(r, name)
        others = "catalogue", "decompose", "get", "holding_controls", "home", "on_ground"
        if name in others or not inspect.isfunction(function):
            continue
        valid = {n: p.default for n, p in inspect.signature(function).parameters.items()}
        said = {}
        for n, x in valid.items():
            if isinstance(x, int) and not isinstance(x, bool):
                said[n] = [0, -1, 1.5, "a", ODD, NAN, None, [], True, HUGE]
            elif isinstance(x, tuple):
                said[n] = ["a", ODD, [1.0, 2.0], [NAN] * 3, {}] if n == "moments" else no_vector(len(x))
            else:
                said[n] = kinds.get(type(x))
        said |= {"name": "text"} | ({"masses": no_vector(3)} if name == "four_bar" else {})
        yield Call(f"robots.{name}", function, valid, said)
    yield Call(
        "robots.get", r.get, {"name": "pendulum", "links": 1}, {"name": "known", "links": ["a", ODD, 0, -1, NAN]}
    )
    yield Call("robots.home", r.home, {"robot": ROBOT})
    yield Call("robots.holding_controls", r.holding_controls, {"robot": ROBOT})
    yield Call(
        "robots.decompose",
        r.decompose,
        {"robot": ROBOT, "bodies": ["link1"], "concavity": 0.1},
        {"bodies": ["nobody", "", 3, NAN, ODD, [3], ["link1", "nobody"]], "concavity": "positive"},
    )
    yield Call(
        "robots.on_ground",
        r.on_ground,
        {"robot": la.robots.cube(), "q": la.robots.cube().neutral(), "clearance": 0.0},
        {"q": no_vector(7)},
    )


def formats():
    """`leastaction.formats`, with files of its own."""
    f = la.formats
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        f.save_urdf(ROBOT, path)
        names = ("floating_base", "merge_fixed", "strict", "meshes", "allow_outside", "composite", "contacts", "lossy")
        kinds = dict.fromkeys(names, "flag") | {"max_bytes": "count", "package_dirs": [3, ODD, [3], [ODD]]}
        plain = {"merge_fixed": False, "meshes": True, "allow_outside": False, "max_bytes": 10**6}
        urdf = {"path": path, "floating_base": False, "strict": False, "package_dirs": (), **plain}
        yield Call("load", la.load, urdf, kinds)
        yield Call("formats.load_urdf", f.load_urdf, urdf, kinds)
        text = {key: value for key, value in urdf.items() if key != "path"} | {"text": path.read_text()}
        yield Call("load_string", la.load_string, text | {"folder": folder}, kinds | {"text": [3, ODD, "<", None]})
        for save in (f.save_urdf, f.save_mjcf):
            valid = {"robot": ROBOT, "path": Path(folder) / "written", "lossy": False}
            yield Call(f"formats.{save.__name__}", save, valid, kinds)
        if importlib.util.find_spec("mujoco") is None:
            return
        path = Path(folder) / "robot.xml"
        body = '<body name="b"><joint name="j" axis="0 1 0"/><geom size="0.1"/></body>'
        path.write_text(f'<mujoco><worldbody>{body}</worldbody><keyframe><key name="k" qpos="1"/></keyframe></mujoco>')
        mjcf = {"path": path, "composite": True, "keyframe": "k", "contacts": True, **plain}
        yield Call("formats.load_mjcf", f.load_mjcf, mjcf, kinds | {"keyframe": "known"})
        yield Call(
            "formats.load_keyframes",
            f.load_keyframes,
            {"path": path, "allow_outside": False, "max_bytes": 10**6},
            kinds,
        )

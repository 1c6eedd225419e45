"""USD stages: the same robot as from MJCF by MuJoCo, masses as USD computes them, units, motions, filters, refusals."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Pose

Usd = pytest.importorskip("pxr.Usd")
from pxr import Gf, Sdf, UsdGeom, UsdPhysics, UsdShade, UsdUtils  # noqa: E402

UPRIGHT = Gf.Rotation(Gf.Vec3d(1, 0, 0), -90.0)
"""Takes our axes, z upwards, to those of a stage with y upwards."""


class Writer:
    """Stages of robots given in SI units with z upwards, in other units and another upward axis."""

    def __init__(self, length=1.0, mass=1.0, up="Z"):
        self.stage = Usd.Stage.CreateInMemory()
        self.length, self.mass, self.up = length, mass, up
        UsdGeom.SetStageMetersPerUnit(self.stage, length)
        UsdPhysics.SetStageKilogramsPerUnit(self.stage, mass)
        UsdGeom.SetStageUpAxis(self.stage, up)
        UsdPhysics.Scene.Define(self.stage, "/physics")

    def body(self, path, X, scale=1.0, **mass):
        """A rigid body with the pose X in the world, and a scale that what is below it has to undo."""
        xform = UsdGeom.Xform.Define(self.stage, path)
        M = Gf.Matrix4d(*np.asarray(X.matrix.T).ravel().tolist())
        M.SetTranslateOnly(M.ExtractTranslation() / self.length)
        if self.up == "Y":
            M = M * Gf.Matrix4d(UPRIGHT, Gf.Vec3d(0.0))
        xform.AddTransformOp().Set(Gf.Matrix4d().SetScale(scale) * M)
        UsdPhysics.RigidBodyAPI.Apply(xform.GetPrim())
        if mass:
            self.masses(xform.GetPrim(), scale, **mass)
        return xform.GetPrim()

    def masses(self, prim, scale=1.0, mass=None, com=None, moments=None, axes=(1, 0, 0, 0), density=None):
        api = UsdPhysics.MassAPI.Apply(prim)
        if mass is not None:
            api.CreateMassAttr(mass / self.mass)
        if density is not None:
            api.CreateDensityAttr(density * self.length**3 / self.mass)
        if com is not None:
            api.CreateCenterOfMassAttr(Gf.Vec3f(*(x / self.length / scale for x in com)))
        if moments is not None:
            api.CreateDiagonalInertiaAttr(Gf.Vec3f(*(x / self.mass / self.length**2 for x in moments)))
            api.CreatePrincipalAxesAttr(Gf.Quatf(*axes))

    def joint(self, kind, path, parent, child, X, Y=None, scales=(1.0, 1.0), **attributes):
        """A joint at X in the parent's frame and Y in the child's; None is the world, whose axes are the stage's."""
        joint = getattr(UsdPhysics, kind).Define(self.stage, path)
        for k, (body, pose) in enumerate(((parent, X), (child, Y or Pose()))):
            p, q = Gf.Vec3d(*pose.position), Gf.Quatd(*pose.quaternion)
            if body is None and self.up == "Y":
                p, q = UPRIGHT.TransformDir(p), UPRIGHT.GetQuat() * q
            if body is not None:
                joint.GetPrim().GetRelationship(f"physics:body{k}").SetTargets([body.GetPath()])
            joint.GetPrim().GetAttribute(f"physics:localPos{k}").Set(Gf.Vec3f(p / self.length / scales[k]))
            joint.GetPrim().GetAttribute(f"physics:localRot{k}").Set(Gf.Quatf(q))
        for name, value in attributes.items():
            getattr(joint, f"Create{name}Attr")(value)
        return joint.GetPrim()

    def load(self, **options):
        return la.load_string(self.stage.GetRootLayer().ExportToString(), **options)


MJCF = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="base" pos="0.3 -0.2 0.5" quat="0.8 0.2 -0.4 0.4">
    <inertial pos="0.01 0.02 0.03" quat="0.9 0.3 0.1 0.3" mass="2" diaginertia="0.02 0.03 0.04"/>
    <body name="upper" pos="0.1 0 0.3">
      <joint name="shoulder" type="hinge" axis="0 1 0" range="-1 2"/>
      <inertial pos="0 0 0.2" mass="1.5" diaginertia="0.02 0.015 0.01"/>
      <body name="slider" pos="0 0.05 0.6" quat="0.6 0 0.8 0">
        <joint name="reach" type="slide" axis="1 0 0"/>
        <inertial pos="0.05 0 0" mass="0.4" diaginertia="0.001 0.002 0.003"/>
        <body name="tip" pos="0.2 0 0">
          <joint name="wrist" type="ball"/>
          <inertial pos="0 0 0.1" mass="0.3" diaginertia="0.001 0.001 0.0005"/>
        </body>
      </body>
    </body>
  </body>
</worldbody></mujoco>"""


def arm(length=1.0, mass=1.0, up="Z", scale=1.0, backwards=False):
    """The robot of `MJCF` as a stage."""
    w = Writer(length, mass, up)
    unit = lambda *q: tuple((np.array(q) / np.linalg.norm(q)).tolist())  # noqa: E731
    places = [
        Pose((0.3, -0.2, 0.5), unit(0.8, 0.2, -0.4, 0.4)),
        Pose((0.1, 0.0, 0.3)),
        Pose((0.0, 0.05, 0.6), unit(0.6, 0.0, 0.8, 0.0)),
        Pose((0.2, 0.0, 0.0)),
    ]
    masses = [
        {"com": (0.01, 0.02, 0.03), "axes": unit(0.9, 0.3, 0.1, 0.3), "mass": 2.0, "moments": (0.02, 0.03, 0.04)},
        {"com": (0, 0, 0.2), "mass": 1.5, "moments": (0.02, 0.015, 0.01)},
        {"com": (0.05, 0, 0), "mass": 0.4, "moments": (0.001, 0.002, 0.003)},
        {"com": (0, 0, 0.1), "mass": 0.3, "moments": (0.001, 0.001, 0.0005)},
    ]
    UsdGeom.Xform.Define(w.stage, "/arm")
    X, bodies = Pose(), [None]
    for name, place, own in zip(("base", "upper", "slider", "tip"), places, masses, strict=True):
        X = X * place
        bodies.append(w.body(f"/arm/{name}", X, scale, **own))
    degrees = {"LowerLimit": math.degrees(-1.0), "UpperLimit": math.degrees(2.0)}
    kinds = [
        ("FixedJoint", "hold", {}),
        ("RevoluteJoint", "shoulder", {"Axis": "Y"} | degrees),
        ("PrismaticJoint", "reach", {"Axis": "X"}),
        ("SphericalJoint", "wrist", {}),
    ]
    for k, (kind, name, attributes) in enumerate(kinds):
        ends = [(bodies[k], places[k], scale if k else 1.0), (bodies[k + 1], Pose(), scale)]
        (a, A, s), (b, B, t) = ends[::-1] if backwards and k else ends
        w.joint(kind, f"/arm/joints/{name}", a, b, A, B, (s, t), **attributes)
    UsdPhysics.ArticulationRootAPI.Apply(w.stage.GetPrimAtPath("/arm"))
    return w


def same(robot, other, rtol=1e-5):
    """Whether two robots of the same coordinates are one: poses, mass matrices and forces of random motions agree."""
    rng = np.random.default_rng(0)
    assert robot.velocity_names == other.velocity_names
    for _ in range(3):
        q = robot.integrate(robot.home(), rng.normal(0.0, 0.5, robot.nv))
        v, a = rng.normal(size=(2, robot.nv))
        for name in ("body_poses", "mass_matrix"):
            one, two = (getattr(la.dynamics, name)(r, q) for r in (robot, other))
            np.testing.assert_allclose(one, two, atol=rtol)
        one, two = (la.dynamics.inverse_dynamics(r, q, v, a) for r in (robot, other))
        np.testing.assert_allclose(one, two, atol=20.0 * rtol)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "options", [{}, {"length": 0.01, "mass": 1e-3, "up": "Y", "scale": 2.0}], ids=["SI", "cm, g, y"]
)
def test_an_arm_is_the_one_that_mujoco_reads(options):
    mujoco = pytest.importorskip("mujoco")
    robot = arm(**options).load(merge_fixed=True)
    model = mujoco.MjModel.from_xml_string(MJCF)
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    assert robot.velocity_names == ("shoulder", "reach", "wrist.wx", "wrist.wy", "wrist.wz")
    for _ in range(3):
        q = robot.integrate(robot.home(), rng.normal(0.0, 0.6, 5))
        v = rng.normal(size=5)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        M = np.zeros((5, 5))
        for k, e in enumerate(np.eye(5)):
            mujoco.mj_mulM(model, data, M[k], e)
        np.testing.assert_allclose(la.dynamics.mass_matrix(robot, q), M, atol=1e-6)
        bias = la.dynamics.inverse_dynamics(robot, q, v, np.zeros(5))
        np.testing.assert_allclose(bias, data.qfrc_bias, atol=2e-5)
        poses = dict(zip(robot.body_names, la.dynamics.body_poses(robot, q), strict=True))
        for name in ("upper", "slider", "tip"):
            np.testing.assert_allclose(poses[name][:3, 3], data.body(name).xpos, atol=1e-6)
            np.testing.assert_allclose(poses[name][:3, :3].ravel(), data.body(name).xmat, atol=1e-6)
    np.testing.assert_allclose((*robot.joint("shoulder").lower, *robot.joint("shoulder").upper), (-1.0, 2.0), rtol=1e-6)


def test_joints_may_name_their_bodies_in_either_order():
    """What the second body does relative to the first; the same motion has the other sign with the bodies swapped."""
    forward, backwards = arm().load(), arm(backwards=True).load()
    q, v = np.array([0.4, -0.1, 1.0, 0.0, 0.0, 0.0]), np.array([0.3, 0.2, 0.0, 0.0, 0.0])
    flip = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    one, two = la.dynamics.body_poses(forward, q), la.dynamics.body_poses(backwards, flip * q)
    np.testing.assert_allclose(one, two, atol=1e-6)
    one = la.dynamics.inverse_dynamics(forward, q, v, v)
    two = la.dynamics.inverse_dynamics(backwards, flip * q, -v, -v)
    np.testing.assert_allclose(one[:2], -two[:2], atol=1e-5)
    assert backwards.joint("shoulder").upper == forward.joint("shoulder").upper


@pytest.mark.parametrize("suffix", [".usd", ".usda", ".usdc", ".usdz"])
def test_every_kind_of_file_is_read(tmp_path, suffix):
    w, path = arm(), tmp_path / f"arm{suffix}"
    layer = w.stage.GetRootLayer()  # lives as long as its stage
    if suffix == ".usdz":
        layer.Export(str(tmp_path / "arm.usdc"))
        assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "arm.usdc"), str(path))
    else:
        layer.Export(str(path))
    same(la.load(path), arm().load())


def test_a_file_that_changed_is_read_again(tmp_path):
    path = tmp_path / "arm.usda"
    for mass in (2.0, 3.0):
        w = arm()
        UsdPhysics.MassAPI(w.stage.GetPrimAtPath("/arm/tip")).GetMassAttr().Set(mass)
        w.stage.GetRootLayer().Export(str(path))
        assert la.load(path).bodies[-1].inertia.mass == mass


def test_home_is_where_bodies_lie_on_the_stage():
    w = Writer(0.01)
    base = w.body("/base", Pose((0, 0, 1)), mass=1.0, moments=(0.1, 0.1, 0.1))
    turned = Pose.from_axis_angle("x", 0.7) * Pose((0, 0, -0.5))
    arm_ = w.body("/arm", Pose((0, 0, 1)) * turned, mass=1.0, moments=(0.1, 0.1, 0.1))
    w.joint("RevoluteJoint", "/hinge", base, arm_, Pose(), Pose((0, 0, 0.5)), Axis="X")
    robot = w.load()
    assert robot.coordinate_names[-1] == "hinge"
    np.testing.assert_allclose(robot.home()[-1], 0.7, rtol=1e-6)
    np.testing.assert_allclose(
        la.dynamics.body_poses(robot, robot.home())[1], (Pose((0, 0, 1)) * turned).matrix, atol=1e-6
    )
    xform = UsdGeom.Xformable(arm_).GetOrderedXformOps()[0]
    xform.Set(xform.Get() * Gf.Matrix4d().SetTranslate(Gf.Vec3d(0, 3, 0)))
    with pytest.warns(UserWarning, match=r"/hinge \(0.03 m or rad\).*lie elsewhere"):
        w.load()


@pytest.mark.parametrize("case", range(6))
def test_masses_are_those_that_usd_computes(case):
    """ComputeMassProperties of USD, which is told mass and inertia of single colliders, is the oracle."""
    rng = np.random.default_rng(case)
    w = Writer()
    turn = rng.normal(size=4)
    Q = turn / np.linalg.norm(turn)
    body = w.body("/body", Pose(tuple(rng.normal(size=3)), Q))
    for k in range(3):
        cube = UsdGeom.Cube.Define(w.stage, f"/body/cube{k}")
        cube.CreateSizeAttr(0.3 + 0.1 * k)
        cube.AddTranslateOp().Set(Gf.Vec3d(*rng.normal(size=3)))
        turn = rng.normal(size=4)
        cube.AddOrientOp().Set(Gf.Quatf(*(turn / np.linalg.norm(turn)).tolist()))
        cube.AddScaleOp().Set(Gf.Vec3f(*rng.uniform(0.5, 2.0, 3).tolist()))
        UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
        if case in (1, 4):
            w.masses(cube.GetPrim(), density=500.0 * (k + 1))
        if case == 2 and k == 1:
            w.masses(cube.GetPrim(), mass=7.0)
    if case == 3:
        w.masses(body, mass=2.5)
    if case == 4:
        w.masses(body, density=300.0)
    if case == 5:
        material = UsdShade.Material.Define(w.stage, "/steel")
        UsdPhysics.MaterialAPI.Apply(material.GetPrim()).CreateDensityAttr(7800.0)
        UsdShade.MaterialBindingAPI.Apply(body).Bind(material, materialPurpose="physics")

    def told(prim):
        scale = np.array(prim.GetAttribute("xformOp:scale").Get())
        size = prim.GetAttribute("size").Get() * scale
        info = UsdPhysics.RigidBodyAPI.MassInformation()
        info.volume = float(np.prod(size))
        info.inertia = Gf.Matrix3f(np.diag((size @ size - size**2) / 12.0 * info.volume).tolist())
        info.centerOfMass, info.localPos = Gf.Vec3f(0.0), Gf.Vec3f(*prim.GetAttribute("xformOp:translate").Get())
        info.localRot = prim.GetAttribute("xformOp:orient").Get()
        return info

    mass, moments, com, axes = UsdPhysics.RigidBodyAPI(body).ComputeMassProperties(told)
    inertia = w.load().bodies[0].inertia
    np.testing.assert_allclose(inertia.mass, mass, rtol=1e-5)
    np.testing.assert_allclose(inertia.com, com, atol=1e-5)
    R = Pose((0, 0, 0), (axes.GetReal(), *axes.GetImaginary())).rotation
    np.testing.assert_allclose(inertia.matrix, R @ np.diag(moments) @ R.T, rtol=1e-4, atol=1e-4 * max(moments))


def test_drives_are_servos_in_radians():
    w = Writer(0.01, 1e-3)
    base = w.body("/base", Pose(), mass=1.0, moments=(1, 1, 1))
    link = w.body("/link", Pose(), mass=1.0, moments=(1, 1, 1))
    w.joint("FixedJoint", "/hold", None, base, Pose())
    joint = w.joint("RevoluteJoint", "/hinge", base, link, Pose(), Axis="Z")
    drive = UsdPhysics.DriveAPI.Apply(joint, "angular")
    torque = 1e-3 * 0.01**2  # N m per unit of torque of the stage
    drive.CreateStiffnessAttr(10.0 * math.pi / 180.0 / torque)
    drive.CreateDampingAttr(2.0 * math.pi / 180.0 / torque)
    drive.CreateMaxForceAttr(30.0 / torque)
    joint.CreateAttribute("physxJoint:armature", Sdf.ValueTypeNames.Float).Set(0.05 / torque)
    robot = w.load()
    (servo,) = robot.actuators
    np.testing.assert_allclose((servo.kp, servo.kv, *servo.force_limits), (10.0, 2.0, -30.0, 30.0), rtol=1e-6)
    np.testing.assert_allclose(robot.joint("hinge").armature, 0.05, rtol=1e-6)


def test_a_general_joint_is_locked_where_low_exceeds_high():
    w = Writer()
    link = w.body("/link", Pose(), mass=1.0, moments=(1, 1, 1))
    joint = w.joint("Joint", "/gantry", None, link, Pose())
    for name in ("transZ", "rotX"):
        limit = UsdPhysics.LimitAPI.Apply(joint, name)
        limit.CreateLowAttr(1.0)
        limit.CreateHighAttr(-1.0)
    limit = UsdPhysics.LimitAPI.Apply(joint, "rotY")
    limit.CreateLowAttr(-90.0)
    limit.CreateHighAttr(45.0)
    robot = w.load()
    names = tuple(f"gantry.{x}" for x in ("transX", "transY", "rotY", "rotZ"))
    assert robot.velocity_names == names
    assert robot.joint("gantry").lower[2] == pytest.approx(-math.pi / 2)
    X = la.dynamics.body_poses(robot, np.array([0.1, 0.2, 0.3, 0.4]))[0]
    expected = Pose((0.1, 0.2, 0.0)) * Pose.from_axis_angle("y", 0.3) * Pose.from_axis_angle("z", 0.4)
    np.testing.assert_allclose(X, expected.matrix, atol=1e-12)


def test_colliders_have_the_size_that_their_scale_gives():
    w = Writer(0.01, up="Y")
    w.body("/body", Pose((0, 0, 1)), mass=1.0, moments=(1, 1, 1))
    made = {}
    for kind in ("Cube", "Sphere", "Capsule", "Cylinder", "Cone"):
        gprim = made[kind] = getattr(UsdGeom, kind).Define(w.stage, f"/body/{kind}")
        UsdPhysics.CollisionAPI.Apply(gprim.GetPrim())
    made["Cube"].AddScaleOp().Set(Gf.Vec3f(1, 2, 3))
    made["Sphere"].AddScaleOp().Set(Gf.Vec3f(4, 4, 4))
    made["Capsule"].CreateAxisAttr("X")
    made["Cylinder"].AddScaleOp().Set(Gf.Vec3f(1, 2, 3))
    mesh = UsdGeom.Mesh.Define(w.stage, "/body/mesh")
    mesh.CreatePointsAttr([(0, 0, 0), (6, 0, 0), (0, 6, 0), (0, 0, 6)])
    mesh.CreateFaceVertexCountsAttr([3, 3, 3, 3])
    mesh.CreateFaceVertexIndicesAttr([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    shapes = {shape.name: shape for shape in w.load().bodies[0].shapes}
    np.testing.assert_allclose(shapes["Cube"].size, (0.02, 0.04, 0.06))
    assert shapes["Sphere"].radius == pytest.approx(0.04)
    assert (shapes["Capsule"].radius, shapes["Capsule"].length) == pytest.approx((0.005, 0.01))
    np.testing.assert_allclose(np.abs(shapes["Capsule"].pose.rotation[:, 2]), (1, 0, 0), atol=1e-12)
    # Convex points on ellipses of 64 sides: volumes of prism and pyramid, less what the sides cut off.
    sides = 64 / (2 * math.pi) * math.sin(2 * math.pi / 64)
    ellipse = shapes["Cylinder"].inertia(density=1.0).mass
    assert ellipse == pytest.approx(sides * math.pi * 0.01 * 0.02 * 0.06, rel=1e-9)
    assert shapes["Cone"].inertia(density=1.0).mass == pytest.approx(sides * math.pi * 0.01**2 * 0.02 / 3.0, rel=1e-9)
    assert shapes["mesh"].volume() == pytest.approx(0.06**3 / 6.0)


def pile(n=3):
    w = Writer()
    for k in range(n):
        w.body(f"/b{k}", Pose((0, 0, 1.0 + k)), mass=1.0, moments=(1, 1, 1))
        ball = UsdGeom.Sphere.Define(w.stage, f"/b{k}/ball")
        ball.CreateRadiusAttr(0.1)
        UsdPhysics.CollisionAPI.Apply(ball.GetPrim())
    return w


def test_filtered_pairs_and_groups_keep_bodies_apart():
    w = pile()
    api = UsdPhysics.FilteredPairsAPI.Apply(w.stage.GetPrimAtPath("/b0"))
    api.CreateFilteredPairsRel().AddTarget("/b2/ball")
    assert w.load().excluded_contacts == (("b0", "b2"),)
    w = pile()
    groups = [UsdPhysics.CollisionGroup.Define(w.stage, f"/g{k}") for k in range(2)]
    groups[0].GetCollidersCollectionAPI().CreateIncludesRel().SetTargets(["/b0", "/b1"])
    groups[1].GetCollidersCollectionAPI().CreateIncludesRel().SetTargets(["/b2"])
    groups[0].CreateFilteredGroupsRel().AddTarget("/g1")
    assert set(w.load().excluded_contacts) == {("b0", "b2"), ("b1", "b2")}


def test_the_world_and_materials():
    w = Writer(0.01, up="Y")
    floor = UsdGeom.Plane.Define(w.stage, "/floor")
    floor.CreateAxisAttr("Y")
    UsdPhysics.CollisionAPI.Apply(floor.GetPrim())
    material = UsdShade.Material.Define(w.stage, "/rubber")
    api = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
    api.CreateDynamicFrictionAttr(0.75)
    api.CreateStaticFrictionAttr(1.0)
    api.CreateRestitutionAttr(0.25)
    UsdShade.MaterialBindingAPI.Apply(floor.GetPrim()).Bind(material, materialPurpose="physics")
    w.body("/stone", Pose((0, 0, 1)), mass=1.0, moments=(1, 1, 1))
    scene = UsdPhysics.Scene.Get(w.stage, "/physics")
    scene.CreateGravityDirectionAttr(Gf.Vec3f(0, -2, 0))
    scene.CreateGravityMagnitudeAttr(162.0)
    robot = w.load()
    np.testing.assert_allclose(robot.gravity, (0.0, 0.0, -1.62), atol=1e-12)
    (plane,) = robot.ground
    np.testing.assert_allclose(plane.pose.rotation[:, 2], (0, 0, 1), atol=1e-12)
    assert (plane.friction, plane.static_friction, plane.restitution) == (0.75, 1.0, 0.25)
    assert robot.joints[0].kind == "free"
    np.testing.assert_allclose(robot.home()[:3], (0, 0, 1), atol=1e-12)


def test_joints_beyond_the_tree_close_loops():
    w = Writer()
    places = {"a": (0, 0), "b": (0, 1), "c": (1, 1)}
    bodies = {n: w.body(f"/{n}", Pose((x, 0, z)), mass=1.0, moments=(0.1,) * 3) for n, (x, z) in places.items()}
    w.joint("RevoluteJoint", "/j1", None, bodies["a"], Pose(), Axis="Y")
    w.joint("RevoluteJoint", "/j2", bodies["a"], bodies["b"], Pose((0, 0, 1)), Axis="Y")
    w.joint("RevoluteJoint", "/j3", bodies["b"], bodies["c"], Pose((1, 0, 0)), Axis="Y")
    w.joint(
        "SphericalJoint",
        "/pin",
        bodies["c"],
        None,
        Pose((0, 0, -1)),
        Pose((1, 0, 0)),
        ExcludeFromArticulation=True,
    )
    robot = w.load()
    assert [joint.name for joint in robot.loops] == ["pin"]
    np.testing.assert_allclose(la.dynamics.close_loops(robot, robot.home()), robot.home(), atol=1e-6)


def broken(change):
    w = arm()
    change(w.stage)
    return w


MISTAKES = {
    "mass": (lambda s: s.GetPrimAtPath("/arm/tip").GetAttribute("physics:mass").Set(-1.0), "/arm/tip", "negative"),
    "limits": (
        lambda s: s.GetPrimAtPath("/arm/joints/shoulder").GetAttribute("physics:lowerLimit").Set(500.0),
        "/arm/joints/shoulder",
        "lowerLimit 500 is larger than upperLimit",
    ),
    "target": (
        lambda s: s.GetPrimAtPath("/arm/joints/reach").GetRelationship("physics:body1").SetTargets(["/arm/slide"]),
        "/arm/joints/reach",
        "there is no prim /arm/slide",
    ),
    "twice": (
        lambda s: s.GetPrimAtPath("/arm/joints/reach").GetRelationship("physics:body1").SetTargets(["/arm/upper"]),
        "/arm/joints/reach",
        "both of its ends",
    ),
    "mirror": (
        lambda s: UsdGeom.Xformable(s.GetPrimAtPath("/arm/tip")).AddScaleOp().Set(Gf.Vec3f(-1, 1, 1)),
        "/arm/tip",
        "mirrors",
    ),
    "nan": (
        lambda s: s.GetPrimAtPath("/arm/tip").GetAttribute("physics:mass").Set(float("nan")),
        "/arm/tip",
        "finite number",
    ),
    "no bodies": (lambda s: s.RemovePrim("/arm"), "/", "no prim with RigidBodyAPI"),
    "units": (lambda s: UsdGeom.SetStageMetersPerUnit(s, 0.0), None, "metersPerUnit must be positive"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_refused_by_the_path_of_the_prim(name):
    change, element, what = MISTAKES[name]
    with pytest.raises(la.FormatError, match=what) as error:
        broken(change).load()
    assert error.value.element == element


def test_what_is_no_stage_is_refused(tmp_path):
    path = tmp_path / "a.usda"
    path.write_text("#usda 1.0\ndef Xform {")
    with pytest.raises(la.FormatError, match=r"a\.usda: USD cannot read it"):
        la.load(path)
    (tmp_path / "b.usdc").write_bytes(b"nonsense")
    for name in ("b.usdc", "missing.usd"):
        with pytest.raises(la.FormatError, match=name):
            la.load(tmp_path / name)
    with pytest.raises(la.FormatError, match="max_bytes"):
        la.load(path, max_bytes=3)
    with pytest.raises(la.FormatError, match="no option 'mesh'; did you mean 'meshes'"):
        la.load(path, mesh=False)


def test_stages_name_no_files_outside_their_folder(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    w = arm()
    w.stage.GetRootLayer().Export(str(tmp_path / "arm.usda"))
    robot = inside / "robot.usda"
    head = '#usda 1.0\n(metersPerUnit = 1\nupAxis = "Z")\n'
    robot.write_text(f'{head}def Xform "robot" (references = @{tmp_path}/arm.usda@</arm>) {{}}')
    with pytest.raises(la.FormatError, match="allow_outside=True"):
        la.load(robot)
    same(la.load(robot, allow_outside=True), arm().load())
    robot.write_text(f'{head}def Xform "robot" (references = @../arm.usda@</arm>) {{}}')
    same(la.load(robot), arm().load())


def test_references_that_multiply_prims_are_refused():
    doubled = "".join(
        f'def "x{k}" {{\ndef "a" (references = </x{k + 1}>) {{}}\ndef "b" (references = </x{k + 1}>) {{}}\n}}\n'
        for k in range(40)
    )
    with pytest.raises(la.FormatError, match="more than 200000 prims"):
        la.load_string(f'#usda 1.0\n{doubled}def Xform "x40" {{}}')


@pytest.mark.parametrize("unit", ["metersPerUnit", "kilogramsPerUnit"])
@pytest.mark.parametrize("value", ["1e-320", "0", "-1", "1e308"])
def test_absurd_units_are_refused(unit, value):
    with pytest.raises(la.FormatError, match=unit):
        la.load_string(f'#usda 1.0\n( {unit} = {value} )\ndef Xform "a" {{}}\n')


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "a.usda"
    path.write_bytes(b'#usda 1.0\ndef Xform "a" { float x = \xbb\xff }\n')
    with pytest.raises(la.FormatError, match="USD cannot read it"):
        la.load(path)

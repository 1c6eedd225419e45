"""SDF files: poses and frames as the specification has them, and the same robot as in URDF."""

import numpy as np
import pytest

import leastaction as la

ARM = """<sdf version="1.9"><model name="arm">
  <link name="base"><pose>0 0 0.2 0 0 0.5</pose>
    <inertial><mass>2</mass></inertial></link>
  <link name="upper"><pose relative_to="shoulder">0 0 0 0 0 0</pose>
    <inertial><pose>0.1 0.02 0.3 0.2 0 0</pose><mass>1.5</mass>
      <inertia><ixx>0.02</ixx><ixy>0.001</ixy><iyy>0.03</iyy><izz>0.01</izz></inertia></inertial></link>
  <link name="lower"><pose relative_to="elbow"/>
    <inertial><pose>0 0 -0.2 0 0 0</pose><mass>0.5</mass>
      <inertia><ixx>0.004</ixx><iyy>0.004</iyy><izz>0.001</izz></inertia></inertial>
    <collision name="tip"><pose>0 0 -0.4 0 0 0</pose>
      <geometry><sphere><radius>0.03</radius></sphere></geometry>
      <surface><friction><ode><mu>0.7</mu></ode></friction></surface></collision></link>
  <joint name="hold" type="fixed"><parent>world</parent><child>base</child></joint>
  <joint name="shoulder" type="revolute"><pose relative_to="base">0.1 0 0.3 0.1 0.2 0.3</pose>
    <parent>base</parent><child>upper</child>
    <axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>2</upper><effort>30</effort></limit>
      <dynamics><damping>0.1</damping><friction>0.2</friction></dynamics></axis></joint>
  <joint name="elbow" type="prismatic"><pose relative_to="upper">0 0.05 0.6 0 0 1</pose>
    <parent>upper</parent><child>lower</child>
    <axis><xyz expressed_in="upper">0 0 2</xyz></axis></joint>
</model></sdf>"""

URDF = """<robot name="arm"><link name="world"/>
  <link name="base"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0.1 0.02 0.3" rpy="0.2 0 0"/><mass value="1.5"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.01"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 -0.2"/><mass value="0.5"/>
    <inertia ixx="0.004" iyy="0.004" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hold" type="fixed"><parent link="world"/><child link="base"/>
    <origin xyz="0 0 0.2" rpy="0 0 0.5"/></joint>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0.1 0 0.3" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="30" velocity="9"/>
    <dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="elbow" type="prismatic"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0.05 0.6" rpy="0 0 1"/><axis xyz="0 0 1"/><limit effort="1" velocity="1"/></joint>
</robot>"""


def test_an_arm_is_the_one_of_the_same_numbers_in_urdf():
    sdf, urdf = la.load_string(ARM), la.load_string(URDF)
    assert sdf.velocity_names == urdf.velocity_names == ("shoulder", "elbow")
    q, v = np.array([0.7, -0.2]), np.array([1.1, 0.4])
    np.testing.assert_allclose(la.dynamics.body_poses(sdf, q), la.dynamics.body_poses(urdf, q), atol=1e-12)
    np.testing.assert_allclose(la.dynamics.mass_matrix(sdf, q), la.dynamics.mass_matrix(urdf, q), atol=1e-12)
    bias = la.dynamics.inverse_dynamics(sdf, q, v, np.zeros(2))
    np.testing.assert_allclose(bias, la.dynamics.inverse_dynamics(urdf, q, v, np.zeros(2)), atol=1e-12)
    for name in ("lower", "upper", "effort_limit", "damping", "friction"):
        assert getattr(sdf.joint("shoulder"), name) == getattr(urdf.joint("shoulder"), name)
    (tip,) = sdf.bodies[-1].shapes
    assert (tip.radius, tip.friction, tip.pose.position) == (0.03, 0.7, (0.0, 0.0, -0.4))


def test_a_bare_link_called_world_is_the_world():
    older = la.load_string(ARM.replace('<link name="base">', '<link name="world"/><link name="base">'))
    assert older == la.load_string(ARM)
    spoiled = ARM.replace('<link name="base">', '<link name="world"><pose>1 0 0 0 0 0</pose></link><link name="base">')
    with pytest.raises(la.FormatError, match="taken by the fixed world"):
        la.load_string(spoiled)


def test_pinocchio_says_the_same_of_the_urdf():
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(URDF)
    data, q, v = model.createData(), np.array([0.7, -0.2]), np.array([1.1, 0.4])
    tau = la.dynamics.inverse_dynamics(la.load_string(ARM), q, v, np.array([0.3, -0.5]))
    np.testing.assert_allclose(tau, pin.rnea(model, data, q, v, np.array([0.3, -0.5])), atol=1e-10)


NESTED = """<sdf version="1.10"><world name="yard"><gravity>0 0 -1.6</gravity>
  <model name="floor"><static>true</static><link name="slab"><pose>0 0 -1 0 0 0</pose>
    <collision name="top"><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>
  <model name="cart" placement_frame="hitch"><pose>1 2 3 0 0 0</pose>
    <link name="bed"><pose>0.5 0 0 0 0 0</pose></link>
    <frame name="hitch" attached_to="bed"><pose>0.25 0 0 0 0 1.5707963267948966</pose></frame>
    <model name="box"><pose relative_to="hitch" degrees="true">0 1 0 0 0 90</pose>
      <link name="lid"><pose>0 0 0.1 0 0 0</pose></link></model>
    <joint name="weld" type="fixed"><parent>hitch</parent><child>box</child></joint>
  </model>
  <model name="stone"><pose>4 0 0 0 0 0</pose><link name="body"/></model>
</world></sdf>"""


def test_frames_models_and_worlds_lie_where_the_specification_puts_them():
    robot = la.load_string(NESTED)
    assert robot.gravity == (0.0, 0.0, -1.6)
    assert set(robot.body_names) == {"cart::bed", "cart::box::lid", "stone::body"}
    X = dict(zip(robot.body_names, la.dynamics.body_poses(robot, robot.home()), strict=True))
    # The placement frame, at (0.75, 0, 0) in the model and turned by a quarter, has the model's pose.
    turn = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(X["cart::bed"][:3, :3], turn, atol=1e-12)
    np.testing.assert_allclose(X["cart::bed"][:3, 3], np.array([1.0, 2.0, 3.0]) + turn @ [-0.25, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(X["cart::box::lid"][:3, 3], [1.0, 3.0, 3.1], atol=1e-12)
    np.testing.assert_allclose(X["stone::body"][:3, 3], [4.0, 0.0, 0.0], atol=1e-12)
    assert [joint.kind for joint in robot.joints].count("free") == 2
    (slab,) = robot.ground
    assert slab.pose.position == (0.0, 0.0, -1.0)


def test_links_of_a_model_collide_where_they_say_so():
    ball = '<collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry></collision>'
    two = f'<link name="{{}}"><pose>{{}} 0 0 0 0 0</pose>{{}}{ball}</link>'
    plain = f'<sdf version="1.9"><model name="m">{two.format("a", 0, "")}{two.format("b", 3, "")}</model></sdf>'
    assert la.load_string(plain).excluded_contacts == (("a", "b"),)
    assert la.load_string(plain.replace("<link", "<self_collide>true</self_collide><link", 1)).excluded_contacts == ()


def test_joints_that_close_a_loop_and_those_that_mimic():
    link = '<link name="{}"><pose>{} {} 0 0 0 0</pose></link>'
    hinge = '<joint name="{}" type="{}"><parent>{}</parent><child>{}</child><axis><xyz>0 0 1</xyz>{}</axis></joint>'
    bar = "".join(link.format(*x) for x in (("a", 0, 0), ("b", 0, 1), ("c", 2, 1), ("d", 2, 0)))
    bar += hinge.format("j1", "revolute", "world", "a", "") + hinge.format("j2", "revolute", "a", "b", "")
    bar += hinge.format("j3", "revolute", "world", "d", "") + hinge.format("j4", "revolute", "d", "c", "")
    bar += '<joint name="pin" type="ball"><pose>1 0 0 0 0 0</pose><parent>c</parent><child>b</child></joint>'
    robot = la.load_string(f'<sdf version="1.9"><model name="m">{bar}</model></sdf>')
    assert [joint.name for joint in robot.loops] == ["pin"]
    np.testing.assert_array_equal(la.dynamics.close_loops(robot, robot.home()), robot.home())
    mimic = '<mimic joint="j1"><multiplier>2</multiplier><reference>0.5</reference><offset>0.1</offset></mimic>'
    pair = link.format("a", 0, 0) + link.format("b", 0, 1)
    pair += hinge.format("j1", "revolute", "world", "a", "") + hinge.format("j2", "continuous", "a", "b", mimic)
    (coupling,) = la.load_string(f'<sdf version="1.10"><model name="m">{pair}</model></sdf>').couplings
    assert coupling.coefficients == pytest.approx((-0.9, 2.0))


def test_models_that_are_included_lie_beside_the_file(tmp_path):
    (tmp_path / "wheel").mkdir()
    wheel = '<sdf version="1.7"><model name="wheel"><link name="rim"/></model></sdf>'
    (tmp_path / "wheel" / "model.sdf").write_text(wheel)
    both = "".join(
        f"<include><uri>model://wheel</uri><name>{name}</name><pose>{x} 0 0 0 0 0</pose></include>"
        for name, x in (("left", -1), ("right", 1))
    )
    path = tmp_path / "car.sdf"
    path.write_text(f'<sdf version="1.7"><world name="w">{both}</world></sdf>')
    robot = la.load(path)
    assert robot.body_names == ("left::rim", "right::rim")
    np.testing.assert_allclose(la.dynamics.body_poses(robot, robot.home())[:, 0, 3], [-1.0, 1.0])


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('relative_to="elbow"', 'relative_to="elbo"', "no frame 'elbo'; did you mean 'elbow'"),
        ('relative_to="base">0.1', 'relative_to="upper">0.1', "relative to itself"),
        ("<mass>2</mass>", "<mass>two</mass>", "expected a number, got 'two'"),
        ('type="prismatic"', 'type="sliding"', "unknown joint type 'sliding'"),
        ("<child>base</child>", "<child>bas</child>", "no link or frame 'bas'"),
    ],
)
def test_mistakes_are_refused_by_line(old, new, what):
    with pytest.raises(la.FormatError, match=what) as error:
        la.load_string(ARM.replace(old, new, 1))
    assert error.value.line is not None

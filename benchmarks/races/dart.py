"""Runners of DART's `World`; its steps are calls from Python, which take less than a microsecond of them."""

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.races import engines

JOINTS = {"revolute": "Revolute", "prismatic": "Prismatic", "spherical": "Ball", "free": "Free", "fixed": "Weld"}


class Dart:
    """A robot without contact; semi-implicit Euler."""

    def __init__(self, robot, q, v, dt, count):
        import dartpy as dart

        self.count, self.names = count, robot.body_names
        self.world, tree = dart.simulation.World(), dart.dynamics.Skeleton(robot.name)
        self.world.setGravity(np.array(robot.gravity))
        self.world.setTimeStep(dt)
        self.bodies, self.start = {}, []
        masses = {body.name: body.inertia for body in robot.bodies}
        for joint in robot.joints:
            if joint.kind not in JOINTS:
                raise ValueError(f"{joint.kind} joints are not built for DART here")
            kind = JOINTS[joint.kind]
            turn = np.array(joint.child_pose.rotation).T
            ahead = isometry(dart, joint.pose.rotation, joint.pose.position)
            behind = isometry(dart, turn, -turn @ np.array(joint.child_pose.position))
            parent = [self.bodies[joint.parent]] if joint.parent in self.bodies else []
            moving, body = getattr(tree, f"create{kind}JointAndBodyNodePair")(*parent)
            moving.setTransformFromParentBodyNode(ahead)
            moving.setTransformFromChildBodyNode(behind)
            if joint.nv == 1:
                moving.setAxis(np.array(joint.primitives[0].axis))
            body.setInertia(inertia(dart, masses[joint.child]))
            self.bodies[joint.child] = body
            mine = engines.coordinates(robot, joint, q)
            if joint.nv == 1:
                self.start.append((moving, mine, v[[robot.velocity_index(joint.name)]]))
            elif joint.kind in ("spherical", "free"):
                X = isometry(dart, rotation(mine[-4:]), mine[:3] if joint.kind == "free" else np.zeros(3))
                convert = type(moving).convertToPositions
                self.start.append((moving, convert(X if joint.kind == "free" else X.rotation()), None))
        self.world.addSkeleton(tree)
        self.reset()
        for a, p, b, _ in engines.loop_points(robot):
            tie = dart.constraint.BallJointConstraint(
                self.bodies[a], self.bodies[b], self.bodies[a].getTransform().multiply(p)
            )
            self.world.getConstraintSolver().addConstraint(tie)

    def reset(self):
        for joint, q, v in self.start:
            joint.setPositions(q)
            joint.setVelocities(np.zeros(joint.getNumDofs()) if v is None else v)

    def run(self):
        self.reset()
        for _ in range(self.count):
            self.world.step()

    def end(self):
        self.run()
        return np.array([self.bodies[name].getCOM() for name in self.names])


def skin(body, shape, friction):
    """A shape of a body that touches others."""
    node = body.createShapeNode(shape)
    node.createCollisionAspect()
    node.createDynamicsAspect().setFrictionCoeff(friction)
    return node


def isometry(dart, turn, place):
    """A transform of DART's."""
    X = dart.math.Isometry3()
    X.set_rotation(np.array(turn))
    X.set_translation(np.array(place))
    return X


def rotation(quaternion):
    """The matrix of a quaternion w, x, y, z."""
    return Rotation.from_quat(np.array(quaternion)[[1, 2, 3, 0]]).as_matrix()


def inertia(dart, own):
    """Of a body, about its centre of mass."""
    xx, xy, xz, yy, yz, zz = own.moments
    return dart.dynamics.Inertia(own.mass, np.array(own.com), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))

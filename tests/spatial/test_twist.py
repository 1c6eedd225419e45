"""Twists and wrenches: linear algebra, the Lie bracket and its dual."""

from hypothesis import given

from leastaction import spatial
from tests.spatial.helpers import close, few, numbers, six, twists


@few
@given(twists, twists, numbers)
def test_linear_algebra_agrees_with_numpy(A, B, k):
    a, b = six(A), six(B)
    assert close(spatial.add(A, B), a + b)
    assert close(spatial.sub(A, B), a - b)
    assert close(spatial.neg(A), -a)
    assert close(spatial.scale(k, A), k * a)
    assert close(spatial.axpy(k, A, B), k * a + b)
    assert close(spatial.dot(A, B), a @ b)
    assert spatial.add(A, spatial.ZERO6) == A


@few
@given(twists, twists, twists)
def test_bracket_is_a_lie_bracket(U, V, W):
    """Laws: [V, W] = -[W, V] and the Jacobi identity."""
    ad = spatial.ad
    assert close(ad(V, W), spatial.neg(ad(W, V)))
    cycle = spatial.add(spatial.add(ad(U, ad(V, W)), ad(V, ad(W, U))), ad(W, ad(U, V)))
    assert close(cycle, spatial.ZERO6, 1e-11)


@few
@given(twists, twists, twists)
def test_coad_is_dual_to_ad(V, W, F):
    """Law: F . ad(V, W) = W . coad(V, F); the spatial cross products are ad and minus its dual."""
    assert close(spatial.dot(F, spatial.ad(V, W)), spatial.dot(W, spatial.coad(V, F)), 1e-11)
    assert close(spatial.cross_motion(V, W), spatial.ad(V, W))
    assert close(spatial.cross_force(V, F), spatial.neg(spatial.coad(V, F)))

"""No file makes the readers use unbounded memory or time, recurse, or read elsewhere."""

import sys
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leastaction.errors import FormatError
from leastaction.formats import load
from leastaction.formats._xml import parse_xml, write_xml
from tests.formats.models import arm, joint, link, mjcf, urdf, write

LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE robot [
  <!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<robot name="&c;"/>
"""


def refused(tmp_path, text, name="model.urdf", **options):
    with pytest.raises(FormatError) as error:
        load(write(tmp_path, text, name), **options)
    return error.value


@pytest.mark.parametrize("name", ["model.urdf", "model.xml"])
def test_entities_are_refused_before_they_are_expanded(tmp_path, name):
    error = refused(tmp_path, LAUGHS, name)
    assert "document type" in str(error)
    assert error.line == 2


def test_external_entities_are_refused(tmp_path):
    error = refused(tmp_path, '<!DOCTYPE robot SYSTEM "file:///etc/passwd">\n<robot name="a"/>')
    assert "document type" in str(error)


@pytest.mark.parametrize("name", ["model.urdf", "model.xml"])
def test_deep_nesting_is_refused_without_recursion(tmp_path, name):
    assert "nested" in str(refused(tmp_path, "<robot>" * 100_000, name))


def test_many_elements_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("leastaction.formats._xml.MAX_ELEMENTS", 10)
    assert "more than 10 elements" in str(refused(tmp_path, urdf(*[link(str(k)) for k in range(10)])))


def test_large_files_are_refused(tmp_path):
    assert "larger than 100 bytes" in str(refused(tmp_path, arm(), max_bytes=100))
    assert load(write(tmp_path, arm()), max_bytes=len(arm())).nv == 1


def test_a_chain_longer_than_the_recursion_limit_loads(tmp_path):
    n = 2 * sys.getrecursionlimit()
    links = [link(f"l{k}") for k in range(n)]
    # Joints from the tip to the root: the worst order for a reader that looks for parents one at a time.
    joints = [joint(f"j{k}", "continuous", f"l{k}", f"l{k + 1}") for k in reversed(range(n - 1))]
    robot = load(write(tmp_path, urdf(*links, *joints)))
    assert robot.body_names == tuple(f"l{k}" for k in range(n))


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize(("name", "text"), [("m.urdf", arm()), ("m.xml", mjcf('<body name="a"/>'))])
def test_truncated_files_are_refused_with_a_line(tmp_path, name, text, cut):
    text = text[: int(cut * len(text))]
    error = refused(tmp_path, text, name)
    assert error.line is not None
    assert 1 <= error.line <= text.count("\n") + 1


def test_truncation_names_the_element_that_stays_open(tmp_path):
    error = refused(tmp_path, '<robot name="a">\n<link name="b">\n\n')
    assert 'link "b", which line 2 opens' in str(error)


@pytest.mark.parametrize("data", [b"", b"\0\0", b"\x89PNG\r\n", b'<?xml version="1.0" encoding="x"?><robot/>'])
def test_what_is_not_xml_is_refused(tmp_path, data):
    path = tmp_path / "model.urdf"
    path.write_bytes(data)
    with pytest.raises(FormatError):
        load(path)


@pytest.mark.parametrize(
    ("world", "before"),
    [
        ('<replicate count="1000000000"><body><joint/><geom size="1"/></body></replicate>', ""),
        ('<replicate count="1000"><replicate count="1000"><geom size="1"/></replicate></replicate>', ""),
        ('<composite type="cable" count="1000 1000 1000"/>', ""),
        ("", '<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'),
        ("", '<asset><mesh name="m" builtin="supertorus" params="100000 1 1 1"/></asset>'),
    ],
)
def test_elements_that_stand_for_too_many_are_refused(tmp_path, world, before):
    error = refused(tmp_path, mjcf(world, before=before), "model.xml")
    assert "more than" in str(error) or "above" in str(error)


def test_sections_that_only_reserve_memory_are_ignored(tmp_path):
    text = mjcf('<body><joint/><geom size="1"/></body>', before='<size nkey="1000000000" memory="900G"/>')
    assert load(write(tmp_path, text, "model.xml")).nv == 1


def test_nan_in_mjcf_is_refused(tmp_path):
    error = refused(tmp_path, mjcf('<body name="a" pos="0 NaN 0"/>'), "model.xml")
    assert error.element == 'body "a"'


# ---------------------------------------------------------------------- any text

names = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=8)


@given(st.lists(names, max_size=4), st.lists(names, max_size=4))
def test_attributes_survive_writing_and_parsing(keys, values):
    """parse(write(x)) = x for any text in attributes, and owners tells the line of each element."""
    from leastaction.formats._xml import Element

    root = Element("robot", {f"a{k}": value for k, value in enumerate([*keys, *values])})
    root.add("link", name="a\tb\nc").add("mass")
    text, owners = write_xml(root)
    back = parse_xml(text.encode(), "text")
    assert back.attributes == root.attributes
    assert [e.attributes for e in back.walk()] == [e.attributes for e in root.walk()]
    for element, original in zip(back.walk(), root.walk(), strict=True):
        assert owners[element.line - 1] is original


SEED = urdf(
    link("base", '<visual><geometry><box size="1 1 1"/></geometry></visual>'),
    link("tip"),
    joint("hinge", "revolute", "base", "tip", '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="2"/>'),
    '<loop_joint name="loop" type="fixed"><link1 link="base"/><link2 link="tip" xyz="0 0 1"/></loop_joint>',
)
WORDS = ("", '"', "<", ">", "/", "-1", "1e999", "nan", "0", "world", "base", "hinge", "ball", "1 2", "&lt;")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_loads_or_is_refused_with_its_place(tmp_path, data):
    """Whatever is cut out or put in, only a `FormatError` with file and line comes out."""
    text = SEED
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + data.draw(st.sampled_from(WORDS)) + text[start + data.draw(st.integers(0, 8)) :]
    path = write(tmp_path, text)
    error = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            load(path, strict=False)
        except FormatError as refusal:
            error = refusal
    assert error is None or (error.file == str(path) and error.line is not None)


def test_long_words_are_cut_short_in_messages(tmp_path):
    error = refused(tmp_path, arm(f'<axis xyz="0 0 {"a" * 5000}"/>'))
    assert "<axis>" in str(error)
    assert len(str(error)) < 1000

from hypothesis import given
from hypothesis import strategies as st
from matplotlib.cbook import is_math_text

from imkpl.plots._style import (
    MARKERS,
    class_color,
    class_marker,
    literal,
    shorten,
    shorten_all,
)


def test_88_classes_differ_the_first_eight_in_colour_and_in_marker():
    assert len({class_color(i) for i in range(8)}) == len({class_marker(i) for i in range(8)}) == 8
    assert len({(class_color(i), class_marker(i)) for i in range(88)}) == 88
    assert "*" not in MARKERS


def test_the_middle_of_long_names_is_cut_out():
    assert shorten("mean corpuscular haemoglobin concentration", 20) == "mean corpusc…tration"


@given(st.text(max_size=60), st.integers(8, 30))
def test_short_names_keep_within_the_length_and_in_one_line(name, longest):
    short = shorten(name, longest)
    assert len(short) <= longest
    assert len(short.splitlines()) <= 1


@given(st.lists(st.text("ab ", max_size=12), max_size=6))
def test_names_that_differ_stay_different(names):
    plain = [" ".join(name.split()) for name in names]
    short = shorten_all(plain, 8)
    assert [[a == b for a in short] for b in short] == [[a == b for a in plain] for b in plain]


@given(st.text(st.sampled_from("ab_$\\{}^ "), max_size=12))
def test_names_are_drawn_as_they_are(name):
    drawn = literal(name)
    assert not is_math_text(drawn)
    assert drawn.replace(r"\$", "$") == (f" {name}" if name.startswith("_") else name)

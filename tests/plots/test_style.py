import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_rgb

from imkpl.plots._style import (
    COLORS,
    MARKERS,
    class_color,
    class_marker,
    literal,
    shorten,
    shorten_all,
)

# Machado, Oliveira and Fernandes (2009), complete loss of one kind of cone, on linear RGB.
VISION = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)

# In CIELAB units, of which a reader sees one or two.
BOUND = 15


def seen_as(color, vision):
    """CIELAB coordinates of a colour, as it is seen."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(VISION[vision] @ linear, 0, 1) / XYZ.sum(axis=1)
    root = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def closest_pair(colors, vision):
    places = [seen_as(color, vision) for color in colors]
    return min(np.linalg.norm(a - b) for a, b in itertools.combinations(places, 2))


@pytest.mark.parametrize("vision", VISION)
def test_colours_are_told_apart_with_every_kind_of_colour_vision(vision):
    assert closest_pair(COLORS, vision) > BOUND


def test_the_first_eight_classes_differ_in_colour_and_in_marker():
    assert len({class_color(i) for i in range(8)}) == len({class_marker(i) for i in range(8)}) == 8


def test_88_classes_differ_and_no_class_is_a_star():
    assert len({(class_color(i), class_marker(i)) for i in range(88)}) == 88
    assert "*" not in MARKERS


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

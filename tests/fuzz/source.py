"""Where the choices of a case come from: a seed, hypothesis, or the bytes of a coverage fuzzer."""

import numpy as np


class Source:
    """Choices between whole numbers, from which everything else is made.

    `draw(low, high)` gives a whole number, both ends included; smaller is simpler.
    """

    def __init__(self, draw):
        self.whole = draw

    def pick(self, options):
        """One of the options; the first is the simplest."""
        options = list(options)
        return options[self.whole(0, len(options) - 1)]

    def chance(self, percent):
        """True in so many of a hundred cases."""
        return self.whole(0, 99) >= 100 - percent

    def generator(self):
        """A generator of random arrays."""
        return np.random.default_rng(self.whole(0, 2**32 - 1))


def from_seed(seed):
    """Choices by a seed: the same ones in every process."""
    generator = np.random.default_rng(seed)
    return Source(lambda low, high: int(generator.integers(low, high, endpoint=True)))


def from_hypothesis(data):
    """Choices that hypothesis makes, and makes simpler where a case fails."""
    from hypothesis import strategies as st

    return Source(lambda low, high: data.draw(st.integers(low, high)))

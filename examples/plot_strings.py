"""
A kernel of one's own, for strings
==================================

My samples are not rows of numbers; they are sequences. Any function that says how alike they are can
be a kernel, and with a list of functions the weights say which way of comparing tells the classes
apart. Here sequences that are "on" contain the motif TATAA somewhere, and the others its letters in
another order.
"""

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from imkpl import IMKPL
from imkpl.kernels import FunctionKernel

rng = np.random.default_rng(0)
state = np.array(["on", "off"] * 150)
genes = []
for label in state:
    motif = "TATAA" if label == "on" else "".join(rng.permutation(list("TATAA")))
    letters = "".join(rng.choice(list("ACGT"), 25))
    place = rng.integers(0, 26)
    genes.append(letters[:place] + motif + letters[place:])


def words_of(length):
    """A kernel that compares sequences by the words of one length that they share."""

    def count(texts):
        letters = np.array([["ACGT".index(letter) for letter in text] for text in texts])
        words = sliding_window_view(letters, length, axis=1) @ 4 ** np.arange(length)
        counts = np.zeros((len(texts), 4**length))
        np.put_along_axis(counts, words, 1.0, axis=1)
        return normalize(counts)

    def compare(left, right):
        return count(left) @ count(right).T

    return FunctionKernel(
        compare, name=f"words of {length}", vector_input=False, unit_diagonal=True
    )


def same_places(left, right):
    """The share of places at which two sequences have the same letter."""
    left, right = (np.array([list(text) for text in texts]) for texts in (left, right))
    return (left[:, None] == right[None]).mean(axis=2)


kernels = [words_of(length) for length in range(2, 7)]
kernels.append(
    FunctionKernel(same_places, name="same places", vector_input=False, unit_diagonal=True)
)
train, test, y_train, y_test = train_test_split(genes, state, stratify=state, random_state=0)
model = IMKPL(kernels).fit(train, y_train)
largest = DummyClassifier().fit(train, y_train).score(test, y_test)
print(f"IMKPL {model.score(test, y_test):.2f}, always one class {largest:.2f}")
print(dict(zip(model.kernel_names_, model.kernel_weights_.round(2))), model.kernel_evidence_.round(2), model.prototypes_.shape)

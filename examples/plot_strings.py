"""
A kernel of one's own, for strings
==================================

My samples are not rows of numbers; they are sequences. Any function that says how alike they are
can be a kernel, and with a list of functions the weights say which way of comparing tells the
classes apart. Here sequences that are "on" contain the motif TATAAG somewhere, and the others its
letters in another order.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
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
    motif = "TATAAG" if label == "on" else "".join(rng.permutation(list("TATAAG")))
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

    return FunctionKernel(compare, f"words of {length}", vector_input=False)


def same_places(left, right):
    """The share of places at which two sequences have the same letter."""
    left, right = (np.array([list(text) for text in texts]) for texts in (left, right))
    return (left[:, None] == right[None]).mean(axis=2)


kernels = [words_of(length) for length in range(2, 7)]
kernels.append(FunctionKernel(same_places, vector_input=False))
train, test, y_train, y_test = train_test_split(genes, state, stratify=state, random_state=0)
model = IMKPL(kernels).fit(train, y_train)
largest = DummyClassifier().fit(train, y_train).score(test, y_test)
print(f"IMKPL {model.score(test, y_test):.2f}, always one class {largest:.2f}")

# %%
# The weights of the kernels, and some of the sequences that prototypes are made of, with a frame
# around TATAAG, which one of the others contains by chance. Words of all lengths help, since parts
# of the motif are rarer in "off". Letters at the same place do not, since the motif may be
# anywhere: that kernel is the control.
colours = ListedColormap(["#E69F00", "#56B4E9", "#009E73", "#CC79A7"])
panels = [["weights", "on"], ["weights", "off"]]
figure, axes = plt.subplot_mosaic(panels, width_ratios=[1, 2.2], layout="constrained")
figure.set_size_inches(7, 4.6)
axes["weights"].barh(model.kernel_names_, model.kernel_weights_, color="#0072B2")
axes["weights"].set(title="weights of the kernels")
axes["weights"].invert_yaxis()
axes["weights"].spines[["top", "right"]].set_visible(False)
for label in ("on", "off"):
    chosen = [train[i] for i in model.support_[model.support_classes_ == label][:10]]
    axis = axes[label]
    numbers = [["ACGT".index(letter) for letter in text] for text in chosen]
    axis.imshow(numbers, cmap=colours, alpha=0.55, aspect="auto")
    for row, text in enumerate(chosen):
        for place, letter in enumerate(text):
            axis.text(place, row, letter, ha="center", va="center", fontsize=7)
        if "TATAAG" in text:
            corner = (text.index("TATAAG") - 0.5, row - 0.5)
            axis.add_patch(plt.Rectangle(corner, 6, 1, fill=False, lw=2, zorder=3))
    axis.set(title=label, xticks=[], yticks=[])
plt.show()

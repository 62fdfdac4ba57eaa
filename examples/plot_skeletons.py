"""
Movements of a skeleton: which joint?
=====================================

I have recordings of a moving body. Which joints tell the movements apart, and which only move along?
One alignment kernel per joint compares two movements at all speeds. The body is a stick figure here,
who waves, squats or kicks, at a speed of her own and with noise in every joint.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

from imkpl import TimeSeriesIMKPL
from imkpl.kernels import GlobalAlignment

joints = {
    "head": (0.0, 1.7), "neck": (0.0, 1.4), "hips": (0.0, 0.9),
    "left elbow": (-0.3, 1.2), "left hand": (-0.35, 0.95),
    "right elbow": (0.3, 1.2), "right hand": (0.35, 0.95),
    "left knee": (-0.12, 0.45), "left foot": (-0.15, 0.0),
    "right knee": (0.12, 0.45), "right foot": (0.15, 0.0),
}  # fmt: skip
bones = [(0, 1), (1, 2), (1, 3), (3, 4), (1, 5), (5, 6), (2, 7), (7, 8), (2, 9), (9, 10)]
rest = np.array(list(joints.values()))
upper_body = [0, 1, 2, 3, 4, 5, 6]


def move(kind, rng):
    """Positions over time, (22 coordinates, steps), of one movement."""
    time = np.linspace(0, 1, rng.integers(25, 40))
    size = np.sin(np.pi * time) * rng.uniform(0.8, 1.2)
    places = np.tile(rest[:, :, None], len(time))
    if kind == "wave":
        places[5] += size * np.array([[0.1], [0.3]])
        places[6] += np.array([0.15 * np.sin(6 * np.pi * time), 0.9 * size])
    elif kind == "squat":
        places[upper_body, 1] -= 0.4 * size
        places[[7, 9], 0] += 0.15 * size * np.array([[-1], [1]])
        places[[7, 9], 1] -= 0.1 * size
    else:
        places[9] += size * np.array([[0.2], [0.15]])
        places[10] += size * np.array([[0.6], [0.5]])
    places += rng.normal(0, 0.03, (11, 2, 1)) + rng.normal(0, 0.03, places.shape)
    return places.reshape(22, -1)


rng = np.random.default_rng(0)
kinds = np.array(["wave", "squat", "kick"] * 20)
movements = [move(kind, rng) for kind in kinds]
train, test, y_train, y_test = train_test_split(movements, kinds, stratify=kinds, random_state=0)
groups = {name: [2 * i, 2 * i + 1] for i, name in enumerate(joints)}
model = TimeSeriesIMKPL(GlobalAlignment(groups=groups), max_kernels=4).fit(train, y_train)
largest = DummyClassifier().fit(y_train, y_train).score(y_test, y_test)
print(f"IMKPL {model.score(test, y_test):.2f}, always one class {largest:.2f}")
print(dict(zip(model.kernel_names_, model.kernel_weights_.round(2), strict=True)))

# %%
# One training movement of each prototype, from its beginning (pale) to its middle (dark). Discs are
# the joints that the model looks at, as large as their weights.
figure, axes = plt.subplots(1, 3, figsize=(7, 3.6), sharey=True, layout="constrained")
for axis, kind in zip(axes, model.classes_, strict=True):
    prototype = np.flatnonzero(model.prototype_classes_ == kind)[0]
    centre = model.prototypes_[[prototype]].toarray().argmax()
    places = train[centre].reshape(11, 2, -1)
    steps = np.linspace(0, places.shape[2] // 2, 5).astype(int)
    for shade, step in zip(np.linspace(0.15, 1, 5), steps, strict=True):
        for bone in bones:
            axis.plot(*places[list(bone), :, step].T, color="#333333", alpha=shade, lw=2)
    size = 1500 * model.kernel_weights_
    axis.scatter(*places[:, :, steps[-1]].T, s=size, color="#D55E00", alpha=0.8, zorder=3)
    axis.set(title=kind, aspect="equal", xlim=(-0.75, 1.0), ylim=(-0.1, 2.1))
    axis.axis("off")
plt.show()

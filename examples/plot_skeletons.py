"""
Movements of a skeleton: which joint?
=====================================

I have recordings of a moving body. Which joints tell the movements apart, and which only move
along? One alignment kernel per joint compares two movements at all speeds. The body is a stick
figure here, that waves, squats or kicks, at varying speed and with noise in every joint.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

from imkpl import IMKPL
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
model = IMKPL(GlobalAlignment(groups=groups), max_kernels=4).fit(train, y_train)
largest = DummyClassifier().fit(y_train, y_train).score(y_test, y_test)
print(f"IMKPL {model.score(test, y_test):.2f}, always one class {largest:.2f}")

# %%
# A training movement of each prototype, from its beginning (pale) to its middle (dark). Discs are
# the four joints that the model looks at, as large as their weights: hand and elbow of the arm
# that waves, foot and knee of the leg that kicks. In a squat that arm goes down.
figure, axes = plt.subplots(1, 3, figsize=(7, 3.4), sharey=True, layout="constrained")
for axis, kind in zip(axes, model.classes_, strict=True):
    prototype = np.flatnonzero(model.prototype_classes_ == kind)[0]
    centre = model.prototypes_[[prototype]].toarray().argmax()
    places = train[centre].reshape(11, 2, -1)
    for shade, part in [("#d8d8d8", 0.0), ("#a0a0a0", 0.25), ("#222222", 0.5)]:
        now = places[:, :, int(part * places.shape[2])]
        for bone in bones:
            axis.plot(*now[list(bone)].T, color=shade, lw=3, solid_capstyle="round")
        axis.add_patch(plt.Circle(now[0], 0.12, fc="white", ec=shade, lw=3, zorder=2))
    axis.scatter(*now.T, s=900 * model.kernel_weights_, color="#D55E00", alpha=0.85, zorder=3)
    axis.set(title=kind, aspect="equal", xlim=(-0.75, 1.05), ylim=(-0.15, 2.0))
    axis.axis("off")
plt.show()

# %%
# Evidence says whether a joint tells the movements apart better than its shuffled twins, the
# weight whether it is needed beside the others. The control is the left foot, which stays on the
# floor in all three movements: it is the only joint without evidence.
figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), sharey=True, layout="constrained")
panels = [("evidence", model.kernel_evidence_), ("weight", model.kernel_weights_)]
for axis, (title, values) in zip(axes, panels, strict=True):
    axis.barh(model.kernel_names_, values, color="#D55E00" if title == "weight" else "#0072B2")
    axis.set_title(title)
    axis.spines[["top", "right"]].set_visible(False)
axes[0].invert_yaxis()
plt.show()

"""
Series with gaps and unequal lengths: which channel, and when?
==============================================================

My recordings have different lengths, and sensors drop out. Can they be compared without cutting and
filling them? Series are aligned, steps without a value are skipped, and the decision says which
channel spoke and at which steps. Here machines that will fail have a dip in the pressure.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

from imkpl import TimeSeriesIMKPL
from imkpl.plots import DecisionDisplay

rng = np.random.default_rng(0)
names = ["pressure", "temperature", "vibration"]
fails = np.arange(80) % 2 == 1
recordings = []
for broken in fails:
    length = rng.integers(40, 70)
    time = np.linspace(0, 1, length)
    waves = np.array([np.sin(2 * np.pi * (k * time + rng.random() * 0.2)) for k in (1, 2, 3)])
    values = waves + rng.normal(0, 0.25, waves.shape)
    if broken:
        values[0] -= 1.5 * np.exp(-(((time - rng.uniform(0.55, 0.75)) / 0.05) ** 2))
    values[rng.random(values.shape) < 0.08] = np.nan
    start = rng.integers(0, 25)
    values[rng.integers(3), start : start + 8] = np.nan
    recordings.append(values)
state = np.where(fails, "fails", "works")

X_train, X_test, y_train, y_test = train_test_split(
    recordings, state, stratify=state, random_state=0
)
model = TimeSeriesIMKPL().fit(X_train, y_train)
largest = DummyClassifier().fit(y_train, y_train).score(y_test, y_test)
print(f"IMKPL {model.score(X_test, y_test):.2f}, always one class {largest:.2f}")
for name, weight in zip(names, model.kernel_weights_, strict=True):
    print(f"{name}: weight {weight:.2f}")
card = model.explain(X_test)
i = int(np.flatnonzero(y_test == "fails")[0])
DecisionDisplay.from_explanation(card, i)
print(card.card(i))

"""
Series with gaps and unequal lengths: which channel, and when?
==============================================================

My recordings have different lengths, and sensors drop out. Can they be compared without cutting
and filling them? Series are aligned, steps without a value are skipped, and a card says which
channel decided and at which steps. Here the pressure of machines that will fail dips for a moment,
somewhere: alignment alone finds it, so the other views of a channel are left out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.dummy import DummyClassifier

from imkpl import IMKPL
from imkpl.series import SeriesSet

rng = np.random.default_rng(0)
fails = np.arange(120) % 2 == 1
recordings, dips = [], []
for broken in fails:
    time = np.arange(rng.integers(40, 70))
    waves = [np.sin(2 * np.pi * (k * time / len(time) + 0.2 * rng.random())) for k in (1, 2, 3)]
    values = waves + rng.normal(0, 0.25, (3, len(time)))
    dips.append(rng.uniform(0.2, 0.8) * len(time))
    if broken:
        values[0] -= 1.5 * np.exp(-(((time - dips[-1]) / 3) ** 2))
    values[rng.random(values.shape) < 0.08] = np.nan  # single steps
    start = rng.integers(0, 30)
    values[rng.integers(3), start : start + 6] = np.nan  # a sensor drops out
    recordings.append(values)
series = SeriesSet.from_list(recordings, ["pressure", "temperature", "vibration"])
state = np.where(fails, "fails", "works")

train, test = np.arange(80), np.arange(80, 120)
model = IMKPL("global_alignment").fit(series[train], state[train])
largest = DummyClassifier().fit(train[:, None], state[train]).score(test[:, None], state[test])
print(f"IMKPL {model.score(series[test], state[test]):.2f}, always one class {largest:.2f}")
for channel in zip(model.kernel_names_, model.kernel_weights_, model.kernel_evidence_, strict=True):
    print("{}: weight {:.2f}, evidence {:.2f}".format(*channel))

# %%
# A recording that fails, over the aligned training recording that speaks for it. The shaded steps
# are those that tell it from the nearest one that works; the dashed line is where the dip was
# planted.
explanation = model.explain(series[test])
found = [explanation.card(i) for i in range(len(test))]
case = 5
one = found[case].series
other = series[int(one["case"])][0]
known = np.flatnonzero(~np.isnan(other))
other = np.interp(one["aligned"], known, other[known])
figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
axis.axvspan(one["from"], one["to"], color="#0072B2", alpha=0.15, label="decides")
axis.axvline(dips[test[case]], color="black", ls="--", lw=1, label="planted")
axis.plot(one["times"], other, color="#999999", label=f"training recording {one['case']}, aligned")
axis.plot(series[test[case]][0], ".-", color="#0072B2", label="this recording")
axis.set(xlabel="step", ylabel=one["channel"])
axis.spines[["top", "right"]].set_visible(False)
axis.legend(ncols=2, fontsize=8)
plt.show()

# %%
# The same for all test recordings that fail: the steps that decide (bars) against the place of the
# dip. The control, on the right, is the place of the dip in another recording.
figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), sharey=True, layout="constrained")
cards = {i: found[k].series for k, i in enumerate(test) if fails[i] and found[k].series}
places = np.array([dips[i] for i in cards])
spans = np.array([[one["from"], one["to"]] for one in cards.values()])
for axis, known, title in zip(
    axes, [places, np.roll(places, 1)], ["dip", "dip of another"], strict=True
):
    axis.vlines(known, *spans.T, color="#0072B2", lw=4, alpha=0.6)
    axis.plot([5, 55], [5, 55], "--", color="black", lw=1)
    inside = (spans[:, 0] <= known) & (known <= spans[:, 1])
    axis.set(
        title=f"inside in {inside.sum()} of {len(known)}",
        xlabel=f"place of the {title}",
        aspect="equal",
    )
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("steps that decide")
plt.show()

"""Tables as hospitals have them: several rows per patient, and a rare disease.

``python benchmarks/patients.py`` prints two tables. Nothing is tuned; draws are numbered from 0.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, recall_score, roc_auc_score

from imkpl import IMKPL
from shared import as_table

N_DRAWS = 20


def draw_patients(seed: int, n_real: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """60 patients, 6 rows each, 10 columns that are nearly constant per patient."""
    source = np.random.default_rng(seed)
    persons = np.repeat(np.arange(60), 6)
    X = source.standard_normal((60, 10))[persons] + 0.1 * source.standard_normal((360, 10))
    y = persons % 2
    X[:, :n_real] += 1.2 * y[:, None]
    return X, y, persons


def measure_noise() -> str:
    """What evidence columns of noise get, with groups and without."""
    rows = []
    for n_real in (0, 2):
        for is_grouped in (True, False):
            noise, real, n_warned = [], [], 0
            for seed in range(N_DRAWS):
                X, y, persons = draw_patients(seed, n_real)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    model = IMKPL().fit(X, y, groups=persons if is_grouped else None)
                passes = model.kernel_evidence_ >= 0.75
                noise.append(passes[n_real:].sum())
                real.append(passes[:n_real].sum())
                n_warned += any("No kernel" in str(one.message) for one in caught)
            rows.append(
                [
                    str(n_real),
                    "yes" if is_grouped else "no",
                    f"{np.mean(noise):.2f} of {10 - n_real}",
                    f"{np.mean(real):.2f}",
                    f"{n_warned} of {N_DRAWS}",
                ]
            )
    return as_table(["real columns", "groups", "noise with evidence", "real found", "warned"], rows)


def draw_disease(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Eight features, of which three raise the risk of a disease that 4.5 % have."""
    source = np.random.default_rng(seed)
    X = source.standard_normal((n, 8))
    risk = 1.1 * X[:, 0] + 0.9 * X[:, 1] - 0.8 * X[:, 2]
    chance = 1 / (1 + np.exp(-(risk - 3.9)))
    return X, np.where(source.random(n) < chance, "sick", "well")


def measure_disease() -> str:
    """AUC and calibration beside peers, and what costs do."""
    found: dict[str, list[list[float]]] = {}
    for seed in range(N_DRAWS // 2):
        X, y = draw_disease(seed, 2000)
        X_new, y_new = draw_disease(1000 + seed, 4000)
        model = IMKPL().fit(X, y)
        for name, one in (
            ("IMKPL", model),
            ("IMKPL, balanced", IMKPL(class_weight="balanced").fit(X, y)),
            ("logistic regression", LogisticRegression().fit(X, y)),
            ("forest", RandomForestClassifier(500, random_state=seed, n_jobs=2).fit(X, y)),
        ):
            chances, is_sick = one.predict_proba(X_new)[:, 0], y_new == "sick"
            prevalence = is_sick.mean()
            for cost in (1, 5, 20):
                says = np.where(chances * cost > 1 - chances, "sick", "well")
                if isinstance(one, IMKPL):
                    says = one.set_params(costs={"sick": cost}).predict(X_new)
                recalls = recall_score(y_new, says, labels=["sick", "well"], average=None)
                found.setdefault(f"{name}, cost {cost}", []).append(
                    [
                        roc_auc_score(is_sick, chances),
                        brier_score_loss(is_sick, chances) / (prevalence * (1 - prevalence)),
                        chances.mean() / prevalence,
                        *recalls,
                    ]
                )
    head = ["model", "AUC", "Brier / base rate's", "mean probability / prevalence"]
    head += ["sensitivity", "specificity"]
    return as_table(
        head, [[name, *(f"{one:.3f}" for one in np.mean(rows, 0))] for name, rows in found.items()]
    )


if __name__ == "__main__":
    print(measure_disease(), measure_noise(), sep="\n\n")

"""Draw card_terminal.png and card_notebook.png: a case card in two forms.

Run from the root of the repository; needs playwright and a Chromium on the system.
"""

import shutil
from html import escape
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer

from imkpl import IMKPL

HERE = Path(__file__).parent
TERMINAL = "background:#1b1e24;color:#e3e6ea;padding:18px 22px;font:14px/1.35 'DejaVu Sans Mono'"
NOTEBOOK = "background:#fff;color:#1b1e24;padding:10px 14px"

data = load_breast_cancer(as_frame=True)
X, y = data.data, np.array(["malignant", "benign"])[data.target]
model = IMKPL().fit(X[::2], y[::2])
explanation = model.explain(X[1::2])
card = next(
    card for card in map(explanation.card, range(len(explanation))) if card.doubt == "close"
)

rng = np.random.default_rng(0)
beats = 0.25 * rng.standard_normal((40, 1, 80))
for row in range(40):
    start = rng.integers(20, 40)
    beats[row, 0, start : start + 14] += 3 * np.sin(np.linspace(0, np.pi, 14))
    if row % 2:
        beats[row, 0, start + 18 : start + 26] += 1.6
labels = np.array(["normal", "double"])[np.arange(40) % 2]
series = (
    IMKPL("global_alignment", n_prototypes=4)
    .fit(beats[:30], labels[:30])
    .explain(beats[30:])
    .card(1)
)

command = f"$ imkpl explain model.imkpl patients.csv --row {card.case}"
pages = {
    "card_terminal": f'<pre style="{TERMINAL};margin:0">{command}\n{escape(str(card))}</pre>',
    "card_notebook": f'<div style="{NOTEBOOK}">{card._repr_html_()}{series._repr_html_()}</div>',
}
with sync_playwright() as driver:
    browser = driver.chromium.launch(
        executable_path=shutil.which("chromium"), args=["--no-sandbox"]
    )
    page = browser.new_page(viewport={"width": 920, "height": 400}, device_scale_factor=1)
    for name, content in pages.items():
        page.set_content(f'<!doctype html><body style="margin:0">{content}')
        page.locator("body > *").screenshot(path=HERE / f"{name}.png")
    browser.close()

"""Draws the pictures of a report: python docs/images/report.py (needs playwright and Chromium)."""

import pathlib
import shutil
import tempfile

from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from imkpl import IMKPL

FOLDER = pathlib.Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

data = load_breast_cancer(as_frame=True)
X, y = data.data.rename(lambda row: f"patient {row}"), data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = IMKPL(max_kernels=10, n_prototypes=6, random_state=0).fit(X_train, y_train)

with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
    page = pathlib.Path(folder) / "report.html"
    train = (X_train, y_train)
    model.report(X_test, y_test, page, train=train, title="Breast cancer: malignant or benign?")
    path = next(filter(None, map(shutil.which, BROWSERS)))
    browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
    for name, width, height, scheme, link in (
        ("report", 1280, 1500, "light", ""),
        ("report-form", 1280, 900, "light", "#own"),
        ("report-dark", 1280, 1100, "dark", "#prototypes"),
        ("report-narrow", 390, 1700, "light", ""),
    ):
        viewport = {"width": width, "height": height}
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        tab = context.new_page()
        tab.goto(page.as_uri() + link)
        tab.screenshot(path=FOLDER / f"{name}.png")
        context.close()
    browser.close()

"""The page in a real browser, from a file and without a network."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from imkpl import IMKPL, TimeSeriesIMKPL
from imkpl.report import render_report, summarize
from imkpl.series import SeriesSet

from .conftest import HOSTILE, MEANINGFUL, make_case

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
if BROWSER is None:
    pytest.skip(
        "There is no Chromium: apt-get install chromium, or let make browser try.",
        allow_module_level=True,
    )


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        # Root has no sandbox, and containers have little shared memory.
        options = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        opened = driver.chromium.launch(executable_path=BROWSER, args=options)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def wine_file(wine_page, tmp_path_factory):
    path = tmp_path_factory.mktemp("wine") / "report.html"
    path.write_text(wine_page, encoding="utf-8")
    return path


@pytest.fixture
def open_page(browser):
    """Opens a file, and fails at the end if the page complained or asked for anything."""
    trouble, contexts = [], []

    def open_file(path, width=1280):
        context = browser.new_context(viewport={"width": width, "height": 800})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: trouble.append("dialog") or dialog.dismiss())
        url = path.as_uri()
        page.on("request", lambda request: request.url != url and trouble.append(request.url))
        page.goto(url)
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert not trouble


def ids(page):
    return page.locator("#sample-table tbody th button").all_inner_texts()


def test_it_opens_from_a_file_without_error_or_request(open_page, wine_file, wine):
    page = open_page(wine_file)
    assert page.locator("h1").inner_text() == wine.found["title"]
    assert len(ids(page)) == 15
    assert page.locator("#status").inner_text() == f"Showing 1 to 15 of {len(wine.y)} samples."


def test_search_finds_by_any_text(open_page, wine_file, wine):
    page = open_page(wine_file)
    page.get_by_label("Search").fill("barolo BOTTLE")
    n_found = sum(
        "Barolo" in (row["true"], row["predicted"]) for row in wine.found["samples"]["rows"]
    )
    status = page.locator("#status").inner_text()
    assert status == f"Showing 1 to 15 of {n_found} samples found among {len(wine.y)}."
    page.get_by_label("Search").fill("no such bottle")
    assert ids(page) == []


def test_pages_turn(open_page, wine_file, wine):
    page = open_page(wine_file)
    assert page.get_by_role("button", name="Previous").is_disabled()
    page.get_by_role("button", name="Next").click()
    assert ids(page) == list(wine.X.index[15:30])


@pytest.mark.parametrize("key", ["probability", "novelty", "predicted"])
def test_columns_sort_both_ways(open_page, wine_file, wine, key):
    page = open_page(wine_file)
    rows = wine.found["samples"]["rows"]
    button = page.locator(f"thead button[data-key={key}]")
    for order, reverse in (("ascending", False), ("descending", True)):
        button.click()
        heading = page.locator(f"th:has(button[data-key={key}])")
        assert heading.get_attribute("aria-sort") == order
        by_id = {row["sample"]: row[key] for row in rows}
        shown = [by_id[name] for name in ids(page)]
        assert shown == sorted(by_id.values(), reverse=reverse)[:15]


def test_numbers_in_ids_sort_as_numbers(open_page, wine_file, wine):
    page = open_page(wine_file)
    page.locator("thead button[data-key=sample]").click()
    assert ids(page) == sorted(wine.X.index, key=lambda name: int(name.split()[1]))[:15]


def test_wrong_ones_can_be_filtered(open_page, wine_file, wine):
    page = open_page(wine_file)
    page.get_by_label("errors only").check()
    wrong = wine.X.index[wine.model.predict(wine.X) != wine.y]
    assert ids(page) == list(wrong[:15])


def test_a_click_shows_the_explanation_of_explain(open_page, wine_file, wine):
    page = open_page(wine_file)
    page.locator("#sample-table tbody tr").nth(4).click()
    one = wine.model.explain(wine.X)[4]
    panel = page.locator("#explanation")
    assert panel.locator(".said p").all_inner_texts() == [
        text.strip() for text in str(one).splitlines()
    ]
    assert page.evaluate("document.activeElement.id") == "explanation-title"
    tables = {
        caption: page.locator("#explanation table").nth(place)
        for place, caption in enumerate(panel.locator("caption").all_inner_texts())
    }
    named = wine.found["samples"]["rows"][4]["reasons"]["prototypes"]
    kept = one.shares.toarray()[0][[part["prototype"] for part in named]]
    others = [1 - kept.sum()] if kept.size < one.shares.nnz else []
    shares = (
        tables["Who speaks for which class"].locator("tbody tr td:nth-child(3)").all_inner_texts()
    )
    assert [float(text.split()[0]) / 100 for text in shares] == pytest.approx(
        [*sorted(kept, reverse=True), *others], abs=6e-4
    )
    beside = (
        tables["Its values compared with training samples"]
        .locator("tbody tr")
        .evaluate_all("rows => rows.map(row => [...row.cells].map(cell => cell.innerText))")
    )
    main = int(one.shares.toarray().argmax())
    real = wine.train[0].loc[one.support_ids[one.samples_behind(main)[0][0]]]
    for name, own, other, *_ in beside:
        assert float(own) == pytest.approx(wine.X.iloc[4][name], rel=1e-3)
        assert float(other) == pytest.approx(real[name], rel=1e-3)
    winner = int(one.winners[0])
    lines = next(t for c, t in tables.items() if "and prototype" in c)
    cells = lines.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    )
    reasons = wine.found["samples"]["rows"][4]["reasons"]
    table = one.contributions(0)
    for cell_texts in cells[:-1]:
        feature = one.feature_names.index(cell_texts[0])
        lead = table[:, feature, winner] - table[:, feature, one.runners_up[0]]
        expected = lead[reasons["table"]["prototypes"]]
        found = [float(text) for text in cell_texts[1 : 1 + len(expected)]]
        assert found == pytest.approx(expected, rel=6e-3, abs=1e-5)
    total = sum(float(text) for text in cells[-1][1:])
    lead = one.scores[0, winner] - one.scores[0, one.runners_up[0]]
    assert total == pytest.approx(lead, rel=1e-2, abs=2e-2)


def test_the_keyboard_opens_and_closes_an_explanation(open_page, wine_file):
    page = open_page(wine_file)
    page.locator("#sample-table tbody button").nth(2).focus()
    page.keyboard.press("Enter")
    assert page.locator("#explanation").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#explanation").is_hidden()
    assert page.evaluate("document.activeElement.innerText") == ids(page)[2]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == ids(page)[3]


def test_the_first_tab_stop_skips_to_the_report(open_page, wine_file):
    page = open_page(wine_file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the report"


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_width_scrolls_the_page_sideways(open_page, wine_file, width):
    page = open_page(wine_file, width=width)
    page.locator("#sample-table tbody tr").first.click()
    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1] == width


def test_print_hides_controls_and_shows_all_sections(open_page, wine_file, wine):
    page = open_page(wine_file)
    page.emulate_media(media="print")
    for hidden in ("nav", ".controls", ".pager"):
        assert page.locator(hidden).is_hidden()
    for section in ("summary", "classes", "features", "map", "confusion", "samples", "provenance"):
        assert page.locator(f"#{section}").is_visible()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert len(ids(page)) == min(100, len(wine.y))
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert len(ids(page)) == 15
    assert page.pdf(format="A4")[:5] == b"%PDF-"


@pytest.mark.parametrize("width", [360, 1280])
def test_hostile_names_are_shown_and_do_nothing(open_page, hostile, tmp_path, width):
    path = tmp_path / "hostile.html"
    path.write_text(hostile.page, encoding="utf-8")
    page = open_page(path, width=width)
    assert page.title() == HOSTILE[1]
    assert ids(page)[0] == hostile.X.index[0]
    page.locator("#sample-table tbody tr").first.click()
    said = "\n".join(page.locator(".said p").all_inner_texts())
    assert hostile.X.index[0] in said
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    page.get_by_label("Search").fill("<script>")
    assert len(ids(page)) > 0
    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1]


def test_a_script_that_got_in_would_not_run(browser, wine_page, tmp_path):
    path = tmp_path / "injected.html"
    changed = wine_page.replace("<h1", "<script>document.title = 'run'</script><h1", 1)
    path.write_text(changed, encoding="utf-8")
    page = browser.new_page()
    refusals = []
    page.on("console", lambda message: refusals.append(message.text))
    page.goto(path.as_uri())
    assert page.title() != "run"
    assert "Content Security Policy" in refusals[0]
    page.close()


def save(page, folder):
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    return path


def keys_of(value):
    """All keys of the objects in a JSON value."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set()


def test_names_that_mean_something_elsewhere_are_only_text(open_page, meaningful, tmp_path):
    page = open_page(save(meaningful.page, tmp_path))
    names = set(MEANINGFUL)
    assert set(meaningful.X.columns) == names | {"category"}
    assert page.locator("#classes h3 bdi").all_inner_texts() == sorted(names)
    assert set(page.locator("#features h4 bdi").all_inner_texts()) >= names
    charts = page.locator("svg.chart")
    weights = page.locator("#features figure").first.locator("text").all_text_contents()
    assert set(weights) >= names
    for card in page.locator("#features .card").all():
        assert set(card.locator("svg.chart").first.locator("text").all_text_contents()) >= names
        card.locator("summary").click()
        heads = card.locator("tbody th").all_inner_texts()
        assert heads == sorted(names)
    for legend in page.locator(".legend").all():
        assert legend.locator("bdi").all_inner_texts() == sorted(names)
    assert charts.count() > 10
    matrix = page.locator("table.confusion")
    assert matrix.locator("thead th").all_inner_texts()[1:] == sorted(names)
    text = page.locator("body").inner_text()
    assert "[object Object]" not in text
    assert "native code" not in text
    assert "undefined" not in text
    assert page.locator("script").count() == 2


@pytest.mark.parametrize("name", MEANINGFUL)
def test_such_names_are_found_and_explained(open_page, meaningful, tmp_path, name):
    page = open_page(save(meaningful.page, tmp_path))
    rows = meaningful.found["samples"]["rows"]
    page.get_by_label("Search").fill(name)
    expected = [
        row["sample"]
        for row in rows
        if any(name.lower() in str(row[key]).lower() for key in ("sample", "true", "predicted"))
    ]
    assert ids(page) == expected[:15]
    place = next(place for place, row in enumerate(rows) if row["predicted"] == name)
    page.get_by_label("Search").fill(rows[place]["sample"])
    button = page.locator(f"tr[data-place='{place}'] button")
    button.click()
    title = page.locator("#explanation-title").inner_text()
    assert title == f"Why sample {rows[place]['sample']} is {name}"
    panel = page.locator("#explanation")
    one = meaningful.model.explain(meaningful.X)[place]
    assert panel.locator(".said p").all_inner_texts() == [
        text.strip() for text in str(one).splitlines()
    ]
    captions = panel.locator("caption").all_inner_texts()
    second = meaningful.model.classes_[one.runners_up[0]]
    assert f"The lead of {name} over {second} by feature and prototype" in captions
    features = {one["name"] for one in meaningful.found["features"]["features"]}
    for caption in (1, 2, 3):
        heads = panel.locator("table").nth(caption + 1).locator("tbody th").all_inner_texts()
        assert heads
        assert set(heads) <= features | {"Sum"} | {f"{i} others" for i in range(20)}
    text = panel.inner_text()
    assert "undefined" not in text
    assert "NaN" not in text


def test_every_link_leads_to_a_number_and_not_to_a_name(open_page, meaningful, tmp_path):
    page = open_page(save(meaningful.page, tmp_path))
    links = page.locator("#confusion a")
    for target in links.evaluate_all("links => links.map(link => link.hash.slice(1))"):
        assert re.fullmatch(r"prototype-\d+", target)
        assert page.locator(f"#{target}").count() == 1
    links.first.click()
    assert page.evaluate("location.hash") == links.first.get_attribute("href")


def test_no_name_is_a_key_in_the_data_of_the_page(open_page, meaningful, tmp_path):
    page = open_page(save(meaningful.page, tmp_path))
    data = json.loads(page.locator("#data").text_content())
    assert data["classes"] == sorted(MEANINGFUL)
    names = {*MEANINGFUL, "category", *meaningful.X.index}
    assert not keys_of(data) & names


def explain_series(names):
    """A report on series of eight channels and two classes with these names."""
    rng = np.random.default_rng(0)
    channels = [f"{names[i % len(names)]}{'Q' * (i // len(names))}" for i in range(8)]
    y = np.array(names, dtype=object)[np.tile([0, 1], 12)]
    X = rng.standard_normal((24, 8, 20))
    X += 4 * np.sin(np.arange(20) / (2 + (y == y[0])[:, np.newaxis, np.newaxis]))
    parts = [SeriesSet.from_list(list(rows), channel_names=channels) for rows in (X[:14], X[14:])]
    model = TimeSeriesIMKPL(sparsity=2).fit(parts[0], y[:14])
    return render_report(summarize(model, parts[1], y[14:], train=(parts[0], y[:14])))


def test_channels_with_such_names_are_drawn_over_time(open_page, tmp_path):
    page = open_page(save(explain_series(MEANINGFUL), tmp_path))
    page.locator("#sample-table tbody tr").first.click()
    shown = page.locator("#explanation figcaption bdi").all_inner_texts()
    assert len(shown) == 3
    assert set(shown) <= set(MEANINGFUL)
    curve = page.locator(".prototype svg.chart").first.locator("text").all_text_contents()
    assert len(set(curve) & set(MEANINGFUL)) == 3


# The second name would end an isolation before it turns the text, the third ends a paragraph. Their
# letters occur nowhere else, so that all other characters belong to the page.
TURNED = ("\u202eQQZZ", "\u2069\u202eZZZ QQ", "QZ\u2029\u202eZQ", "\u05d0\u05d1 \u05d2")

# Blocks with such a name, and whether all other characters of a line go from left to right.
READ_BLOCKS = """
() => [...document.querySelectorAll("p, caption, th, td, li, h1, h3, h4, figcaption, summary")]
  .filter((block) => /[QZ\u05d0]/.test(block.textContent) && block.getClientRects().length)
  .map((block) => {
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    const boxes = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const found of node.data.matchAll(/[a-z0-9().,:%=]/g)) {
        const range = document.createRange();
        range.setStart(node, found.index);
        range.setEnd(node, found.index + 1);
        const box = range.getBoundingClientRect();
        if (box.width) boxes.push(box);
      }
    }
    const inOrder = boxes.slice(1).every((box, place) => {
      return Math.abs(box.top - boxes[place].top) > 4 || box.left > boxes[place].left;
    });
    return { text: block.textContent, size: boxes.length, inOrder };
  })
"""


@pytest.fixture(scope="module")
def turned():
    """A table whose names all turn the text around them, with an error and a repeated sample."""
    rng = np.random.default_rng(0)
    places = np.tile([0, 0, 1, 1, 2, 2], 12)
    X = pd.DataFrame(rng.normal(0, 1, (72, 3)) + 3 * np.eye(3)[places], columns=TURNED[:3])
    X[TURNED[3]] = np.array(TURNED)[places]
    X.index = [f"{TURNED[i % 4]}{'Q' * i}" for i in range(72)]
    y = np.array(TURNED, dtype=object)[places]
    X.iloc[1], y[1] = X.iloc[0], TURNED[1]
    y[3] = TURNED[3]
    return render_report(make_case(X, y, IMKPL("per_column", sparsity=2), title=TURNED[0]).found)


def test_names_from_right_to_left_leave_the_text_around_them(open_page, turned, tmp_path):
    page = open_page(save(turned, tmp_path))
    page.locator("#sample-table tbody tr").first.click()
    for part in page.locator("summary").all():
        part.click()
    blocks = page.evaluate(READ_BLOCKS)
    texts = "\n".join(block["text"] for block in blocks if block["size"])
    for sentence in (
        "Why sample",
        "(wrong)",
        "Wrong: the true class is",
        "also in the training data",
        "missing from the training data",
        "ahead of",
        "of the votes from",
        "What each feature adds",
        "Training sample",
        "by class",
    ):
        assert sentence in texts
    assert [block["text"] for block in blocks if not block["inOrder"]] == []


def test_channels_from_right_to_left_leave_the_text_around_them(open_page, tmp_path):
    page = open_page(save(explain_series(TURNED), tmp_path))
    page.locator("#sample-table tbody tr").first.click()
    blocks = page.evaluate(READ_BLOCKS)
    assert "of the similarity" in "".join(block["text"] for block in blocks)
    assert [block["text"] for block in blocks if not block["inOrder"]] == []


def test_names_from_right_to_left_stay_where_a_chart_has_its_names(open_page, turned, tmp_path):
    page = open_page(save(turned, tmp_path))
    chart = page.locator("#features figure svg").first
    places = chart.locator("text").evaluate_all(
        "all => all.map(one => [one.textContent, one.getBBox()]).map(([text, box]) => "
        "[text, box.x, box.x + box.width])"
    )
    names = [place for place in places if re.search("[QZ\u05d0]", place[0])]
    weights = [place for place in places if "%" in place[0]]
    assert len(names) == len(weights) == 4
    assert max(right for _, _, right in names) < min(left for _, left, _ in weights)
    assert min(left for _, left, _ in names) >= 0

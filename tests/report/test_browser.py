"""The page in a real browser, from a file and without a network."""

import copy
from urllib.parse import quote

import pytest
from sklearn.datasets import load_breast_cancer

from imkpl import IMKPL
from imkpl.cli.review import read_review
from imkpl.report import render_report, summarize
from imkpl.report.page import ReportFile, place_map
from imkpl.report.subject import fingerprint_model

from .conftest import HOSTILE, save


def ids(page):
    return page.locator("#list .id").all_inner_texts()


def title(page):
    # A card opens when the browser has told the page of its new address.
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    return page.locator("#card .of").inner_text(), page.locator("#card h3 bdi").inner_text()


def is_in_sight(page, selector):
    return page.locator(selector).evaluate(
        "one => { const box = one.getBoundingClientRect();"
        " return box.top < innerHeight && box.bottom > 0; }"
    )


def widths(page):
    return page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")


def test_it_opens_from_a_file_with_a_verdict(open_page, wine_file, wine):
    page = open_page(wine_file)
    assert page.locator("h1").inner_text() == wine.found["title"]
    accuracy = wine.found["accuracy"]
    verdict = page.locator("#verdict")
    headline = f"Right for {accuracy['n_right']} of {accuracy['n']} held-out cases"
    assert verdict.locator("h2").inner_text() == headline
    assert "Clearly better than always saying Grignolino" in verdict.inner_text()
    # Drawn to scale: the dot at the accuracy, the tick at the baseline.
    track = page.locator(".track").bounding_box()
    for mark, share in ((".dot", "accuracy"), (".tick", "baseline")):
        share = accuracy[share]["accuracy"] if share == "baseline" else accuracy[share]
        box = page.locator(mark).bounding_box()
        middle = box["x"] + box["width"] / 2 - track["x"]
        assert middle / track["width"] == pytest.approx(share, abs=0.01)
    assert len(ids(page)) == len(wine.y)


def test_wrong_cases_are_chips_that_open_their_card(open_page, wine_file, wine):
    page = open_page(wine_file)
    wrong = [row for row in wine.found["samples"]["rows"] if not row["right"]]
    chips = page.locator("#verdict .lead .chip")
    names = [text.split("\n")[0] for text in chips.all_inner_texts()]
    assert names == [row["sample"] for row in wrong]
    chips.last.click()
    case, answer = title(page)
    assert case == f"Case {wrong[-1]['sample']}, wrong: it is {wrong[-1]['true']}"
    assert answer == wrong[-1]["predicted"]
    assert is_in_sight(page, "#card h3")
    assert page.evaluate("document.activeElement.id") == "card"


def test_search_filter_and_order(open_page, wine_file, wine):
    page = open_page(wine_file)
    rows = wine.found["samples"]["rows"]
    page.get_by_label("Search cases").fill("barolo BOTTLE")
    found = [row["sample"] for row in rows if "Barolo" in (row["true"], row["predicted"])]
    assert ids(page) == found
    assert page.locator("#status").inner_text() == f"{len(found)} of {len(rows)} cases"
    page.get_by_label("Search cases").fill("")
    page.get_by_label("Show").select_option("wrong")
    assert ids(page) == [row["sample"] for row in rows if not row["right"]]
    page.get_by_label("Show").select_option("close")
    assert ids(page) == [row["sample"] for row in rows if row["card"]["doubt"] == "close"]
    page.get_by_label("Show").select_option("all")
    page.get_by_label("Sort by").select_option("probability")
    assert ids(page) == [row["sample"] for row in sorted(rows, key=lambda row: row["probability"])]
    page.get_by_label("Search cases").fill("no such bottle")
    assert ids(page) == []


def test_a_card_shows_what_explain_says(open_page, wine_file, wine):
    page = open_page(wine_file)
    page.locator("#list a").nth(4).click()
    card = wine.model.explain(wine.X).card(4)
    assert title(page) == (f"Case {wine.X.index[4]}, right", card.answer)
    assert page.locator("#card .doubt").inner_text() == card.doubt_text
    rows = page.locator(".compare tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    )
    cells = dict(zip(wine.X.columns, wine.X.iloc[4], strict=True))
    for feature, (name, own, supporting, opposing, push) in zip(
        card.features, [row for row in rows if len(row) == 5], strict=False
    ):
        assert name == feature["name"]
        assert float(own) == pytest.approx(cells[name], rel=1e-3)
        for text, which in ((supporting, "supporting"), (opposing, "opposing")):
            value, near = text.split()
            assert float(value) == pytest.approx(feature[which], rel=1e-3)
            assert (near == "alike") == feature[f"near_{which}"]
        assert float(push.replace("\u2212", "-")) == pytest.approx(feature["for"], abs=6e-3)
    assert rows[-1][0] == f"Lead of {card.answer} over {card.runner_up}"
    assert float(rows[-1][-1]) == pytest.approx(card.lead, abs=6e-3)
    if card.change is not None:
        changed = page.locator(".change").inner_text()
        assert changed.startswith(f"It would be {card.change['to']} with")
        assert all(one["name"] in changed for one in card.change["features"])


def test_a_link_opens_a_case(open_page, wine_file, wine):
    row = wine.found["samples"]["rows"][20]
    page = open_page(wine_file, link=f"#case-{quote(row['sample'])}")
    assert title(page)[0].startswith(f"Case {row['sample']}")
    assert is_in_sight(page, "#card h3")
    current = page.locator("#list a[aria-current]")
    assert current.locator(".id").inner_text() == row["sample"]
    page.locator("#list a").first.click()
    assert page.evaluate("decodeURIComponent(location.hash)") == f"#case-{wine.X.index[0]}"
    page.go_back()
    assert title(page)[0].startswith(f"Case {row['sample']}")


def test_links_stay_in_the_frame_of_a_notebook(browser, wine_file, wine, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(ReportFile(wine_file)._repr_html_(), encoding="utf-8")
    page = browser.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    frame = page.frames[1]
    frame.locator("#list a").nth(3).click()
    assert frame.locator("#card .of").inner_text().startswith(f"Case {wine.X.index[3]}")
    frame.get_by_role("button", name="Change its values").click()
    assert frame.locator("#own-start").inner_text() == f"Started from {wine.X.index[3]}"
    frame.get_by_role("tab", name="Held-out cases").click()
    frame.locator(".bar a", has_text="Methods").click()
    assert frame.evaluate("scrollY") > 1000
    assert frame.url == "about:srcdoc"
    assert errors == []
    page.close()


def test_words_are_explained_by_pointer_and_keyboard(open_page, wine_file):
    page = open_page(wine_file)
    term, tip = page.locator("#verdict .term").first, page.locator("#tip")
    assert tip.is_hidden()
    term.hover()
    assert tip.inner_text() == "A case that the model has not seen while it was learning."
    page.mouse.move(0, 0)
    assert tip.is_hidden()
    term.focus()
    assert tip.is_visible()
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_the_map_names_points_and_opens_held_out_cases(open_page, wine_file, wine):
    page = open_page(wine_file)
    points = wine.found["map"]["points"]
    places, _ = place_map(wine.found["map"])
    plot = page.locator(".plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    scale = box["width"] / plot.evaluate("one => one.viewBox.baseVal.width")
    alone = [
        place
        for place, (x, y) in enumerate(places)
        if sum((x - a) ** 2 + (y - b) ** 2 < 49 for a, b in places) == 1
    ]
    trained = next(place for place in alone if points[place]["row"] is None)
    x, y = places[trained]
    page.mouse.move(box["x"] + scale * x, box["y"] + scale * y)
    sample, label = points[trained]["sample"], points[trained]["label"]
    assert page.locator("#pointed").inner_text() == f"Training case {sample}: {label}"
    new = next(place for place in alone if points[place]["row"] is not None)
    x, y = places[new]
    page.mouse.click(box["x"] + scale * x, box["y"] + scale * y)
    page.wait_for_function("location.hash.startsWith('#case-')")
    assert title(page)[0].startswith(f"Case {points[new]['sample']}")


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_no_width_scrolls_the_page_sideways(open_page, wine_file, width):
    page = open_page(wine_file, width=width)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    for link in ("cases", "own"):
        page.evaluate(f"location.hash = '{link}'")
        found, shown = widths(page)
        assert found <= shown == width


def test_print_hides_controls_and_unfolds_everything(open_page, wine_file):
    page = open_page(wine_file)
    page.emulate_media(media="print")
    for hidden in (".bar", ".side"):
        assert page.locator(hidden).is_hidden()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
    assert page.pdf(format="A4")[:5] == b"%PDF-"


def test_a_large_page_stays_small_and_opens(open_page, wine, tmp_path):
    """2000 cases, 500 of them with cards, and 200 features."""
    found = copy.deepcopy(wine.found)
    rows, features = found["samples"]["rows"], found["features"]["features"]
    for i in range(2000):
        row = {**rows[i % len(wine.y)], "row": i, "key": f"{i}", "sample": f"case {i}"}
        rows.append(row if i < 500 else {**row, "card": None})
    features += [{**features[i % 5], "feature": i, "name": f"gene {i}"} for i in range(5, 200)]
    del rows[: len(wine.y)]
    text = render_report(found)
    assert len(text.encode()) < 5_000_000
    page = open_page(save(text, tmp_path))
    assert page.locator("#status").inner_text() == "2000 cases"
    assert len(ids(page)) == 100
    page.get_by_role("button", name="Show more").click()
    assert len(ids(page)) == 200
    page.evaluate("location.hash = 'case-1500'")
    page.wait_for_function("document.querySelector('#card .of').innerText === 'Case case 1500'")
    assert "model.explain(X).card(1500)" in page.locator("#card").inner_text()


@pytest.mark.parametrize(("width", "scheme", "link"), [(390, "dark", "#own"), (1280, "light", "")])
def test_axe_finds_nothing(browser, hostile, tmp_path, width, scheme, link):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    path = save(hostile.page, tmp_path)
    viewport = {"width": width, "height": 800}
    # The policy of the page would not let the checker in.
    context = browser.new_context(viewport=viewport, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(path.as_uri() + link)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    context.close()


@pytest.mark.parametrize("width", [360, 1280])
def test_hostile_names_are_shown_and_do_nothing(open_page, hostile, tmp_path, width):
    page = open_page(save(hostile.page, tmp_path), width=width)
    assert page.title() == hostile.found["title"]
    assert page.locator(".class h3 bdi").all_text_contents() == sorted(HOSTILE[:3])
    assert page.locator(".confusion thead th").all_text_contents()[1:-2] == sorted(HOSTILE[:3])
    assert ids(page)[0] == hostile.X.index[0]
    page.locator("#list a").first.click()
    assert title(page)[0].startswith(f"Case {hostile.X.index[0]}")
    assert title(page)[1] == hostile.found["samples"]["rows"][0]["predicted"]
    for name in HOSTILE:
        page.evaluate("key => { location.hash = 'case-' + encodeURIComponent(key); }", name)
        page.wait_for_function(
            "name => document.querySelector('#card .of bdi').textContent === name", arg=name
        )
    page.evaluate("location.hash = 'own'")
    text = page.locator("body").inner_text()
    assert not any(word in text for word in ("[object Object]", "native code", "undefined", "NaN"))
    assert page.locator("#own-form .field").count() == len(hostile.found["form"]["features"])
    page.get_by_role("tab", name="Held-out cases").click()
    page.get_by_label("Search cases").fill("<script>")
    assert len(ids(page)) > 0
    found, shown = widths(page)
    assert found <= shown


def test_a_script_that_got_in_would_not_run(browser, wine_page, tmp_path):
    changed = wine_page.replace("<h1", "<script>document.title = 'run'</script><h1", 1)
    page = browser.new_page()
    refusals = []
    page.on("console", lambda message: refusals.append(message.text))
    page.goto(save(changed, tmp_path).as_uri())
    assert page.title() != "run"
    assert "Content Security Policy" in refusals[0]
    page.close()


def test_names_from_right_to_left_are_isolated_in_sentences(open_page, hostile, tmp_path):
    page = open_page(save(hostile.page, tmp_path), link="#own")
    page.get_by_role("textbox", name=HOSTILE[-1]).fill("900")
    note = page.locator("#card .notes:not(.speakers) li").first
    assert note.inner_text().startswith(f"{HOSTILE[-1]} = 900 is far above all training values")
    assert note.locator("bdi").all_inner_texts() == [HOSTILE[-1]]


@pytest.fixture(scope="module")
def tumours(tmp_path_factory):
    """A model with more features than a card shows at once, and its page."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X.index = [f"P{i}" for i in range(len(X))]
    model = IMKPL(n_prototypes=4).fit(X[60:300], y[60:300])
    text = render_report(summarize(model, X[:60], y[:60], title="Tumours"))
    return model, X[:60], save(text, tmp_path_factory.mktemp("tumours"))


def read_rows(page):
    rows = page.locator(".compare tbody tr:visible").evaluate_all(
        "rows => rows.map(row => [row.className, row.cells[0].innerText,"
        " parseFloat(row.querySelector('.n')?.innerText.replace('\u2212', '-'))])"
    )
    return [(kind, name, push) for kind, name, push in rows]


def test_folded_features_open_and_are_printed(open_page, tumours):
    model, X, path = tumours
    explanation = model.explain(X)
    cards = [explanation.card(row) for row in range(len(X))]
    row = max(range(len(X)), key=lambda row: len(cards[row].features))
    card = cards[row]
    changed = {one["name"] for one in (card.change or {"features": []})["features"]}
    page = open_page(path, link=f"#case-{X.index[row]}")
    folded = [one for one in card.features[8:] if one["name"] not in changed]
    assert len(folded) > 2
    rows = read_rows(page)
    names = [one["name"] for one in card.features if one not in folded]
    rest = [one["name"] for one in card.rest if abs(one["for"]) >= 0.0005]
    assert [name for kind, name, _ in rows if not kind] == names
    (fold,) = (one for one in rows if one[0] == "fold wide")
    assert fold[1] == f"{len(folded)} more features"
    assert fold[2] == pytest.approx(sum(one["for"] for one in folded), abs=6e-3)
    assert [name.lower() for kind, name, _ in rows if kind == "rest wide"] == rest
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.get_by_role("button", name="more features").click()
        shown = [name for kind, name, _ in read_rows(page) if kind in ("", "folded")]
        assert shown == [one["name"] for one in card.features]
        assert widths(page)[0] <= width
        page.get_by_role("button", name="Fold").click()
    page.emulate_media(media="print")
    rows = read_rows(page)
    assert [name for kind, name, _ in rows if kind in ("", "folded")] == shown
    assert not any(kind == "fold wide" for kind, *_ in rows)
    # Boxes are drawn by backgrounds, which a printer leaves out unless it is told not to.
    box = page.locator(".spread .strip").first
    assert box.evaluate("one => getComputedStyle(one, '::after').printColorAdjust") == "exact"
    assert box.evaluate("one => getComputedStyle(one, '::after').backgroundColor") != ""


def test_a_review_is_kept_and_downloaded(open_page, tumours, tmp_path):
    model, _, path = tumours
    page = open_page(path, link="#case-P3", accept_downloads=True)
    assert page.locator(".mark:visible").count() == 0
    page.get_by_label("Your name").fill("Dr A")
    page.get_by_role("button", name="Mark cases, prototypes, features").click()
    feature = page.locator("[data-mark=feature]").first.get_attribute("data-name")
    page.get_by_label(f"Review of feature {feature}", exact=True).select_option("wrong reason")
    page.get_by_label(f"Review of feature {feature}: note").fill("<b>other scanner</b>")
    prototype = page.locator("[data-mark=prototype]").first.get_attribute("data-name")
    page.get_by_label(f"Review of prototype {prototype}", exact=True).select_option("agree")
    page.locator("#card .foot select").select_option("not a good example")
    page.locator("#list a").first.click()
    page.goto(f"{path.as_uri()}#case-P3")
    page.reload()
    assert page.locator("#review-status").inner_text() == "3 remarks, in this browser only."
    assert page.locator("#card .foot select").input_value() == "not a good example"
    assert page.locator(".mark:visible").count() == 3
    with page.expect_download() as found:
        page.get_by_role("button", name="Download review.json").click()
    found.value.save_as(tmp_path / "review.json")
    review = read_review(tmp_path / "review.json")
    assert (review.reviewer, review.model) == ("Dr A", fingerprint_model(model))
    said = [(one["about"], one["name"], one["said"], one["note"]) for one in review.remarks]
    assert said == [
        ("feature", feature, "wrong reason", "<b>other scanner</b>"),
        ("prototype", prototype, "agree", ""),
        ("case", "P3", "not a good example", ""),
    ]
    assert (review.find("exclude"), review.find("not eligible")) == ((feature,), ("P3",))
    page.get_by_role("button", name="Remove all remarks").click()
    assert page.locator("#review-status").inner_text() == "No remarks yet."

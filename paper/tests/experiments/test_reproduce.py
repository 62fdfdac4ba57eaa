from dataclasses import replace

import numpy as np
import pytest

from imkpl_paper.experiments import available, reproduce
from imkpl_paper.experiments.items import ITEMS
from imkpl_paper.experiments.page import Section, as_html, as_markdown, introduce, make_section
from imkpl_paper.experiments.plan import Size, make_plan, unique_cells
from imkpl_paper.experiments.studies import STUDIES, Samples, choose_study, load_samples
from imkpl_paper.experiments.views import Entry, Found, Picture, Table

CHEAP = Size(datasets=("wine",), methods=("1-NN", "sparse logistic regression"), n_splits=2)


@pytest.fixture
def cheap_table(monkeypatch):
    item = replace(ITEMS["table-3"], quick=CHEAP)
    monkeypatch.setitem(ITEMS, "table-3", item)
    return item


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("IMKPL_DATA", str(tmp_path))
    load_samples.cache_clear()
    yield tmp_path
    load_samples.cache_clear()


def test_a_quick_table_is_measured_once_and_written(cheap_table, tmp_path, capsys):
    first = reproduce("table-3", quick=True, folder=tmp_path, n_jobs=1)
    assert (first.n_cells, first.n_measured, first.n_failed) == (4, 4, 0)
    again = reproduce("table-3", quick=True, folder=tmp_path, n_jobs=1)
    assert again.n_measured == 0
    page = first.page.read_text(encoding="utf-8")
    assert "sparse logistic regression" in page
    assert "<strong>" in page
    assert "src=" not in page.replace('src="data:', "")
    text = (tmp_path / "quick" / "page.md").read_text(encoding="utf-8")
    assert text.count("| 1-NN |") == 1
    assert "4/4" in capsys.readouterr().err


def test_more_splits_add_to_those_that_are_there(cheap_table, tmp_path):
    reproduce("table-3", quick=True, folder=tmp_path, n_jobs=1)
    more = reproduce("table-3", quick=True, folder=tmp_path, n_jobs=1, n_splits=3)
    assert (more.n_cells, more.n_measured) == (6, 2)


def test_a_page_can_be_made_of_what_is_there(cheap_table, tmp_path):
    outcome = reproduce("table-3", quick=True, folder=tmp_path, measure=False)
    assert outcome.n_measured == 0
    assert "Not measured yet: 4 of 4 cells." in outcome.page.read_text(encoding="utf-8")


def test_an_interrupted_run_leaves_a_page(cheap_table, tmp_path, monkeypatch):
    def interrupt(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("imkpl_paper.experiments.reproduction.run_cells", interrupt)
    with pytest.raises(KeyboardInterrupt):
        reproduce("table-3", quick=True, folder=tmp_path)
    assert (tmp_path / "quick" / "index.html").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "tabel-3",
            r"There is no table or figure 'tabel-3'\. Did you mean 'table-3'\? Choose from",
        ),
        ("figure-sens", r"Did you mean 'figure-sensitivity'\?"),
        ("zzz", r"'zzz'\. Choose from overview, table-1"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name, message):
    with pytest.raises(ValueError, match=message):
        reproduce(name)


def test_no_name_and_bad_counts_are_refused():
    with pytest.raises(ValueError, match="No table or figure is named, expected some of overview"):
        reproduce([])
    with pytest.raises(ValueError, match="n_jobs is 0, expected a whole number of at least 1"):
        reproduce("table-3", n_jobs=0)
    with pytest.raises(ValueError, match="n_splits is -1, expected"):
        reproduce("table-3", n_splits=-1)


def test_the_names_are_those_of_the_paper():
    first, *others = available()
    assert first == "overview"
    assert others[:5] == [f"table-{number}" for number in range(1, 6)]
    assert others[5:9] == ["table-growth", "table-codes", "table-ablation", "table-rounds"]
    assert all(name.startswith("figure-") for name in others[9:])


def test_items_share_cells():
    plans = [make_plan(ITEMS[name], quick=True) for name in ("table-2", "table-3", "table-5")]
    shared = {cell for cell in plans[0].cells if cell.method == "IMKPL"}
    assert shared
    assert shared <= set(plans[1].cells)
    assert len(unique_cells(plans)) < sum(len(plan.cells) for plan in plans)


def test_quick_sizes_need_no_files(no_data):
    for item in ITEMS.values():
        plan = make_plan(item, quick=True)
        assert all(choice.name == choice.asked for choice in plan.choices)
        assert plan.cells


def test_unavailable_data_are_reported(no_data):
    choice = choose_study("TOX_171")
    assert choice.name == ""
    assert "TOX_171 is not available" in choice.reason
    section = make_section(Found(make_plan(ITEMS["table-3"], quick=False), {}))
    text = as_markdown([section], ())
    assert "TOX\\_171: not available" in text
    assert "97.21" in text


def test_a_stand_in_is_used_and_marked_until_the_file_is_there(no_data, monkeypatch):
    def read():
        return Samples(np.zeros((6, 2)), np.arange(6) % 2)

    monkeypatch.setitem(STUDIES, "MLL_Leukemia3", replace(STUDIES["MLL_Leukemia3"], read=read))
    plan = make_plan(ITEMS["table-3"], quick=False)
    choice = plan.choices[0]
    assert (choice.asked, choice.name) == ("CLL_SUB", "MLL_Leukemia3")
    assert {cell.dataset for cell in plan.cells} == {"MLL_Leukemia3"}
    row = {"status": "done", "split": 0, "accuracy": 90.0}
    section = make_section(Found(plan, {plan.cells[0].key: row}))
    text = as_markdown([section, section], ())
    assert text.count("differences say nothing about the method") == 1
    assert "CLL\\_SUB\\*: MLL\\_Leukemia3 stands in" in text
    load_samples.cache_clear()
    monkeypatch.setitem(STUDIES, "CLL_SUB", replace(STUDIES["CLL_SUB"], read=read))
    assert choose_study("CLL_SUB").name == "CLL_SUB"


def test_peers_that_are_not_installed_are_skipped_with_a_reason(monkeypatch):
    monkeypatch.setattr("imkpl_paper.experiments.methods._is_installed", lambda module: False)
    plan = make_plan(ITEMS["table-3"], quick=False)
    assert not {"GMLVQ", "ROCKET"} & {cell.method for cell in plan.cells}
    section = make_section(Found(plan, {}))
    assert any("Skipped: GMLVQ needs sklvq" in note for note in section.notes)
    assert any("pip install aeon" in note for note in section.notes)
    vectors = make_plan(ITEMS["table-3"], quick=True, datasets=["wine"])
    assert not any("DTW" in reason for reason in vectors.skipped)


def test_methods_see_only_what_they_can_read():
    size = Size(datasets=("wine", "synthetic_small"), methods=("1-NN", "ISKPL"), n_splits=1)
    plan = make_plan(replace(ITEMS["table-3"], quick=size), quick=True)
    pairs = {(cell.dataset, cell.method) for cell in plan.cells}
    assert pairs == {("wine", "1-NN"), ("wine", "ISKPL"), ("synthetic_small", "ISKPL")}


HOSTILE = '<script>alert(1)</script>" | **x** `y` \n # [a](b)'


def test_the_page_shows_hostile_names_as_text():
    table = Table(HOSTILE, (HOSTILE, "b"), ((Entry(HOSTILE, True), Entry("1")),), (HOSTILE,))
    picture = Picture("p", HOSTILE, b"<svg onload='x'/>")
    section = Section("s", HOSTILE, HOSTILE, (table, picture), (HOSTILE,))
    page = as_html([section], [HOSTILE])
    assert "<script>" not in page
    assert "onload" not in page
    assert page.count("&lt;script&gt;") >= 8
    assert 'alt="&lt;script&gt;alert(1)&lt;/script&gt;&#34;' in page
    text = as_markdown([section], [HOSTILE])
    assert "<script>" not in text
    assert "\n # [" not in text
    # A cell border inside of a name is escaped: two columns remain.
    (line,) = [line for line in text.splitlines() if line.startswith("| **")]
    assert line.replace("\\|", "").count("|") == 3


def test_failures_are_told_once_per_reason():
    plan = make_plan(replace(ITEMS["table-3"], quick=CHEAP), quick=True)
    rows = {
        cell.key: {"status": "failed", "reason": "ValueError: no", "split": cell.split}
        for cell in plan.cells
        if cell.method == "1-NN"
    }
    assert Found(plan, rows).failures() == ["1-NN failed on wine (2 cells). ValueError: no"]


def test_older_rows_are_told():
    plan = make_plan(replace(ITEMS["table-3"], quick=CHEAP), quick=True)
    cell = plan.cells[0]
    row = {"status": "done", "split": 0, "accuracy": 90.0, "is_older": True}
    section = make_section(Found(plan, {cell.key: row}))
    assert "Measured with another version of the source: 1 cells." in section.notes


def test_the_introduction_tells_quick_sizes_from_the_papers():
    assert "Quick sizes" in introduce(quick=True)[0]
    assert not any("Quick" in text for text in introduce(quick=False))


def test_a_document_keeps_what_was_written_by_hand(cheap_table, tmp_path):
    document = tmp_path / "page.md"
    document.write_text("# Mine\n\nWords.\n\n<!-- rows -->\n\noutdated")
    for _ in range(2):
        reproduce("table-3", quick=True, folder=tmp_path, measure=False, document=document)
        text = document.read_text(encoding="utf-8")
        assert text.startswith("# Mine\n\nWords.\n\n<!-- rows -->\n\nQuick sizes")
        assert "outdated" not in text
        assert text.count("## Accuracy") == 1


def test_a_marked_table_comes_to_its_place_in_the_document(cheap_table, tmp_path):
    document = tmp_path / "page.md"
    mark = "<!-- table-3 -->"
    text = f"# Mine\n\nFirst.\n\n{mark}\n\noutdated\n\n## Then\n\nWords.\n\n<!-- rows -->"
    document.write_text(text)
    for _ in range(2):
        reproduce("table-3", quick=True, folder=tmp_path, document=document)
        text = document.read_text(encoding="utf-8")
        head, rest = text.split("\n## Then\n\nWords.\n\n<!-- rows -->")
        assert head.startswith(f"# Mine\n\nFirst.\n\n{mark}\n\n**wine**\n\n| method |")
        assert "outdated" not in head
        assert "| method |" not in rest


def test_figures_of_a_document_lie_beside_it(tmp_path):
    document = tmp_path / "docs" / "page.md"
    document.parent.mkdir()
    reproduce("figure-synthetic", quick=True, folder=tmp_path, measure=False, document=document)
    assert "(images/reproduction/synthetic.png)" in document.read_text(encoding="utf-8")
    assert (document.parent / "images" / "reproduction" / "synthetic.png").exists()


def test_single_data_sets_can_be_run(tmp_path):
    outcome = reproduce(
        ["table-2", "table-3"], quick=True, folder=tmp_path, datasets=["wine"], measure=False
    )
    assert "digits" not in outcome.page.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"no data set 'win' in these.* Did you mean 'wine'\?"):
        reproduce("table-3", quick=True, datasets=["win"])

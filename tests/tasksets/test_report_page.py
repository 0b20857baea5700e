"""The page as text: nothing from outside, nothing unescaped, every part there."""

import base64
import gzip
import hashlib
import json
import re

import pytest
from attrs import evolve
from helpers.demo_summary import demo_summary, with_factors
from helpers.pages import HOSTILE, Page
from helpers.rows import rows_of, sets_of, summary_of, with_rows

from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.model.finding import Finding
from deadbeat.base.report import html as html_of
from deadbeat.base.report.document import flatten
from deadbeat.base.report.html import encode
from deadbeat.tasksets.contention.facts import labels
from deadbeat.tasksets.contention.kind import campaign_document, write_report
from deadbeat.tasksets.contention.profile_charts import grid_charts
from deadbeat.tasksets.contention.tables import page_data
from deadbeat.tasksets.model.results import NoiseFacts, Summary


def render(summary: Summary) -> str:
    return html_of.page(campaign_document(summary))


@pytest.fixture(scope="module")
def demo() -> Page:
    return Page(render(demo_summary()))


def hostile_summary() -> Summary:
    base = demo_summary(name=HOSTILE, host=HOSTILE, labels=(HOSTILE,), cores=(1, 2), steps=1)
    finding = Finding(id="x", severity="warning", message=HOSTILE, cure=HOSTILE, where=HOSTILE)
    meta = base.meta | {
        "parameters": {HOSTILE: [HOSTILE]},
        "calibration": {HOSTILE: HOSTILE},
        "sessions": [{"session": HOSTILE, "before": {HOSTILE: HOSTILE}, "after": {HOSTILE: "b"}}],
        "failed": {HOSTILE: {"reason": HOSTILE}},
        "created_at": HOSTILE,
    }
    sets = tuple(item | {"file": HOSTILE, "seed": HOSTILE} for item in sets_of(base))
    noise = NoiseFacts(smallest_effect=0.01, basis=HOSTILE)
    return with_rows(base, findings=(finding,), meta=meta, sets=sets, noise_floor=noise)


def test_no_element_refers_to_anything_outside(demo):
    for tag, attributes in demo.elements:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert "src" not in attributes
        for name in ("href", "action", "poster", "srcset", "data"):
            assert (attributes.get(name) or "#").startswith("#")


def test_styles_load_nothing():
    style = render(demo_summary()).split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_allows_exactly_the_scripts_that_are_there(demo):
    policy = next(
        attributes["content"]
        for tag, attributes in demo.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    digests = {
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in demo.scripts[2:]
    }
    assert len(demo.scripts) == 4
    parts = re.findall(r'run\("([^"]+)"\)', demo.scripts[2])
    assert len(parts) == 2, "one of them for surfaces"
    for packed in parts:
        library = gzip.decompress(base64.b64decode(packed))
        assert library.startswith(b"/**\n* plotly.js")
        digests.add(base64.b64encode(hashlib.sha256(library).digest()).decode())
    assert allowed == digests
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy


def test_hostile_names_add_no_element_and_read_as_they_are(demo):
    calm, page = Page(render(demo_summary(cores=(1, 2), steps=1))), Page(render(hostile_summary()))
    assert len(page.scripts) == len(calm.scripts) == 4
    assert not [tag for tag, _ in page.elements if tag == "img"]
    assert not [name for _, attributes in page.elements for name in attributes if name[:2] == "on"]
    assert page.words.count(HOSTILE) >= 8
    assert page.data()["name"] == HOSTILE
    assert page.data()["labels"] == ["SIMULATED", HOSTILE]


def test_hostile_data_cannot_end_its_element():
    text = encode({"name": HOSTILE, "comment": "<!-- <script>\u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"name": HOSTILE, "comment": "<!-- <script>\u2028"}


def test_every_row_and_set_is_embedded(demo):
    summary, data = demo_summary(), demo.data()
    assert len(data["rows"]) == len(rows_of(summary)) == 74
    assert len(data["sets"]) == len(sets_of(summary))
    first = dict(zip(data["row_columns"], data["rows"][-1], strict=True))
    assert first["slowdown_mean"] == pytest.approx(rows_of(summary)[-1]["slowdown_mean"], rel=1e-5)


def test_distributions_survive_their_packing(demo):
    summary, data = demo_summary(), demo.data()
    assert len(data["distributions"]) == len(summary.distributions)
    for item, packed in zip(summary.distributions, data["distributions"], strict=True):
        cores, rho, alpha, metric, table, first, counts, factor = packed
        assert factor == item["deadline_factor"]
        assert (cores, rho, alpha) == (item["cores"], item["sync_share"], item["contended_ratio"])
        assert metric == item["metric"]
        assert sum(counts) == sum(item["counts"])
        start = next(index for index, count in enumerate(item["counts"]) if count)
        kept = data["edges"][table][first : first + len(counts) + 1]
        assert kept == pytest.approx(item["edges"][start : start + len(counts) + 1], rel=1e-5)


def test_distributions_with_bins_of_their_own_keep_them():
    place = {"cores": 1, "sync_share": 0.0, "contended_ratio": 0.0, "metric": "slowdown"}
    grids = ([1.0, 2.0, 3.0], [1.0, 3.0], [1.5, 2.5])
    items = tuple(place | {"edges": e, "counts": [5] * (len(e) - 1)} for e in grids)
    data = page_data(summary_of(rows=(), sets=(), distributions=items))
    found = [
        data["edges"][table][first : first + len(counts) + 1]
        for _, _, _, _, table, first, counts, _ in data["distributions"]
    ]
    assert found == [list(e) for e in grids]


def test_a_seed_too_large_for_javascript_travels_as_text():
    seed = 2**63 + 1
    base = demo_summary(cores=(1,), steps=1, sets_per_point=1)
    data = page_data(with_rows(base, sets=({**sets_of(base)[0], "seed": seed},)))
    column = 4 + [item["heading"] for item in data["set_fields"]].index("seed")
    assert data["sets"][0][column] == str(seed)


def test_values_that_are_not_finite_become_none():
    base = demo_summary(cores=(1,), steps=1)
    rows = (rows_of(base)[0] | {"slowdown_mean": float("nan"), "delay_ratio_max": float("inf")},)
    data = json.loads(encode(page_data(with_rows(base, rows=rows))))
    row = dict(zip(data["row_columns"], data["rows"][0], strict=True))
    assert row["slowdown_mean"] is None
    assert row["delay_ratio_max"] is None


def test_an_empty_campaign_still_gives_a_page():
    page = Page(render(summary_of(rows=(), sets=())))
    assert "Nothing was measured yet." in page.text
    assert "unnamed campaign" in page.text
    assert page.data()["rows"] == []


def test_a_simulated_platform_is_labelled_even_when_the_summary_forgot():
    assert labels(demo_summary(labels=())) == ("SIMULATED",)
    assert labels(demo_summary(labels=("policy other",), kind="hardware")) == ("policy other",)
    assert labels(demo_summary(labels=("simulated",))) == ("SIMULATED",)


def test_a_session_that_was_cut_off_claims_no_changes():
    base = demo_summary()
    meta = base.meta | {"sessions": [{"session": 1, "before": {"a": 1}, "after": None}]}
    assert "the session was cut off" in Page(render(evolve(base, meta=meta))).text


def test_nested_values_become_paths():
    value = {"a": {"b": [1, 2], "c": [{"d": True}, {"d": None}]}, "e": 0.1 + 0.2, "f": []}
    assert list(flatten(value)) == [
        ("a.b", "1, 2"), ("a.c[0].d", "yes"), ("a.c[1].d", "none"), ("e", "0.3"), ("f", ""),
    ]  # fmt: skip


def test_the_file_is_written_whole_into_a_new_folder(tmp_path):
    path = write_report(demo_summary(name="caf\udce9"), tmp_path / "new" / "run")
    assert path == tmp_path / "new" / "run" / "report.html"
    assert path.read_text("utf-8").rstrip().endswith("</html>")
    assert [item.name for item in path.parent.iterdir()] == ["report.html"]


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DeadbeatError, match="cannot write") as caught:
        write_report(demo_summary(), tmp_path / "file")
    assert caught.value.hint


def test_several_deadline_factors_have_grids_of_their_own():
    summary = with_factors(demo_summary(cores=(2, 4), steps=2), (2.0, 5.0))
    data = page_data(summary)
    assert data["factors"] == [2.0, 5.0]
    grids = {c.option: c.panels[-1].heat for c in grid_charts(summary) if "miss" in c.option}
    places = [(m, factor) for m in (4, 2) for factor in (2, 5)]
    assert list(grids) == [f"Deadline miss ratio · M = {m} · D/C = {f}" for m, f in places]
    tight, wide = (
        grids[f"Deadline miss ratio · M = 4 · D/C = {f}"].cells[2][2].value for f in (2, 5)
    )
    assert tight == pytest.approx(6.25 * wide, rel=1e-4)
    assert len(data["rows"]) == len(rows_of(summary))
    page = Page(render(summary))
    words = page.text.replace("\u00a0", " ")
    assert "Deadlines of 2 C: extra misses from M = " in words
    assert "They are still missed at D = 5 C." in words

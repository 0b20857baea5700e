"""Truth: the arguments' file of the thesis (section 4.1), letter by letter, and what it says."""

import re
from pathlib import Path

import pytest

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat_papers.runtimes.arguments import RtsjArguments, read_arguments

EXAMPLE = Path(__file__).parents[1] / "golden" / "rtsjmcbench" / "args.xml"


def read_text(folder: Path, text: str) -> RtsjArguments:
    path = folder / "args.xml"
    path.write_text(text, encoding="utf-8")
    return read_arguments(path)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as error:
        read_text(folder, text)
    return "\n".join([error.value.message, *error.value.details, error.value.hint])


def changed(**values: str | None) -> str:
    """The example with other values; None: without the argument."""
    text = EXAMPLE.read_text(encoding="utf-8")
    for name, value in values.items():
        if value is None:
            text = re.sub(rf'<arg name="{name}".*?</arg>', "", text, flags=re.DOTALL)
        else:
            text = re.sub(rf'(name="{name}" value=)"[^"]*"', rf'\1"{value}"', text)
    return text


def test_the_file_of_the_thesis_is_read_as_it_is() -> None:
    found = read_arguments(EXAMPLE)
    assert (found.app, found.memory, found.datadir) == (
        "rtsj.mcperf.mem.alloc.memalloc",
        "lt",
        Path("datadir"),
    )
    layer = found.layer("jvm")
    assert layer == {
        "tests": ["alloc:lt"],
        "runtimes": "jvm",
        "placements": ["all"],
        "threads": [10],
        "policy": "rr",
        "priority": 30,
        "samples": 10_000,
        "work": 1000,
        "handlers": ["equal"],
        "duration": 10,
        "keep": True,
        "sizes": [8],
    }


@pytest.mark.parametrize(
    ("memory", "runtimes", "tests"),
    [
        ("LT", "jvm:25:G1", ["alloc:lt"]),
        ("VT", "jvm", ["alloc:vt"]),
        ("immortal", "jvm", ["alloc:immortal"]),
        ("heap", "jvm", ["alloc:heap"]),
        ("heap", "native", ["alloc:ring"]),
        ("LT", "native", ["alloc_pool:own"]),
        ("VT", "native", ["alloc:budget"]),
        ("LT", "native,jvm:17:Z", ["alloc_pool:own", "alloc:lt"]),
    ],
)
def test_a_type_of_memory_is_a_primitive_of_each_runtime(
    tmp_path: Path, memory: str, runtimes: str, tests: list[str]
) -> None:
    assert read_text(tmp_path, changed(memtype=memory)).tests(runtimes) == tests


OTHERS = {"memtype": None, "memsize": None}


@pytest.mark.parametrize(
    ("app", "values", "test", "placement"),
    [
        ("rtsj.mcperf.mem.copy.memcopy", OTHERS, "copy", "all"),
        ("rtsj.mcperf.cache.sharedcopy", {**OTHERS, "allocsize": "1/64"}, "copy_shared", "cache"),
        ("rtsj.mcperf.async.event", {**OTHERS, "allocsize": None}, "event:monitor", "same"),
        ("rtsj.mcperf.lock.spinlock", {**OTHERS, "allocsize": None}, "lock:tas", "both"),
    ],
)
def test_the_other_tests_go_by_the_words_of_their_names(
    tmp_path: Path, app: str, values: dict[str, str | None], test: str, placement: str
) -> None:
    text = changed(**values).replace("rtsj.mcperf.mem.alloc.memalloc", app)
    layer = read_text(tmp_path, text).layer("jvm")
    assert (layer["tests"], layer["placements"]) == ([test], [placement])
    assert layer.get("shares") == ([64] if test == "copy_shared" else None)


def test_a_test_that_nobody_knows_is_refused_with_what_is_known(tmp_path: Path) -> None:
    said = refused(tmp_path, changed().replace("mem.alloc.memalloc", "io.disk"))
    assert 'line 1: testapp: no test is called "rtsj.mcperf.io.disk"' in said
    assert "mem.alloc" in said
    assert "lock or spin" in said


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"count": "many"}, 'line 7: count: "many" is not a whole number'),
        ({"count": "0"}, 'line 7: count: "0" is out of range'),
        ({"priority": "30.5"}, 'line 8: priority: "30.5" is not a whole number'),
        ({"priority": "99"}, 'line 8: priority: "99" is out of range'),
        ({"type_of_threads": "green"}, 'line 3: type_of_threads: "green" is not a choice'),
        ({"scheduling_policy": "edf"}, 'line 5: scheduling_policy: "edf" is not a choice'),
        ({"memsize": "32G"}, 'line 12: memsize: "32G" is not a size'),
        ({"allocsize": "-8"}, 'line 13: allocsize: "-8" is not a size'),
        ({"datadir": " "}, 'line 9: datadir: " " names no folder'),
        ({"no_of_threads": None}, "no_of_threads: missing"),
        ({"memsize": None}, "memsize: missing, and memtype is lt"),
        ({"memtype": "heap", "type_of_threads": "nh"}, "cannot use the heap"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, values: dict[str, str | None], said: str
) -> None:
    assert said in refused(tmp_path, changed(**values))


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    text = changed(count="x", priority="y", datadir=None).replace(
        "</testapp>", '<arg name="colour" value="red"/><arg name="memtype" value="VT"/></testapp>'
    )
    said = refused(tmp_path, text)
    for part in (
        'count: "x" is not a whole number',
        'priority: "y" is not a whole number',
        "colour: unknown argument",
        "memtype: given twice, first in line 11",
        "datadir: missing",
    ):
        assert part in said, part


def test_iterations_times_size_must_fit_the_memory(tmp_path: Path) -> None:
    """Section 4.2: the number of iterations times the allocation size against what there is."""
    said = refused(tmp_path, changed(allocsize="4K"))
    assert "line 12: memsize: 10000 x 4K = 40,960,000 bytes do not fit into 32M" in said
    assert "give 40960000 at least" in said
    read_text(tmp_path, changed(allocsize="4K", memsize="40960000"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<!DOCTYPE t [<!ENTITY a "aaaa">]><testapp name="&a;"/>', "a document type is not read"),
        ('<!DOCTYPE t SYSTEM "file:///etc/passwd"><testapp name="x"/>', "document type"),
        ('<testapp name="&a;"/>', "not XML: undefined entity"),
        ("<testapp", "not XML: unclosed token"),
        ("", "not XML: no element found"),
        ("<other/>", "line 1: other: unexpected element"),
        ('<testapp name="x"><arg name="a" value="1"><b/></arg></testapp>', "inside arg"),
        ('<testapp name="mem.alloc"><arg name="count"/></testapp>', "no attribute value"),
        ('<testapp name="mem.alloc" id="1"/>', 'unknown attribute "id"'),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, text)


def test_a_bomb_of_entities_is_refused_before_it_is_read(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    bomb = f'<!DOCTYPE t [<!ENTITY e0 "lol">{levels}]><testapp name="&e9;"/>'
    said = refused(tmp_path, bomb)
    assert "document type" in said
    assert len(said) < 300


def test_a_file_that_is_not_there_or_too_long_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read arguments"):
        read_arguments(tmp_path / "none.xml")
    assert "larger than" in refused(tmp_path, "<!-- " + "x" * 70_000 + " -->")

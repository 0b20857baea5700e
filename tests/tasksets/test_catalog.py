"""The truth is the table of keys in CONTRIBUTING.md and fragment.h: what front matter may say."""

from pathlib import Path

import pytest

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.tasksets.catalog import load_catalog, pools_root
from deadbeat.tasksets.model.tasks import Entry, Kind

NS = """\
name = "matmul"
kind = "NS"
summary = "Dense matrix multiply"
resource_class = "compute-integer"
sizes = [4, 8, 16]
size_unit = "rows"
quick = [8]
origin = "own"
tacle = "matrix1"
licence = "Apache-2.0"
"""
SY = """\
name = "mutex"
kind = "SY"
summary = "Lock and unlock"
resource_class = "mutex"
sizes = [1, 16]
size_unit = "increments"
requires = ["priority-ceiling"]
blocking = true
hold = "one counter increment"
parallel = false
mixed_priorities = false
origin = "own"
licence = "Apache-2.0"
tsan = false
"""


def write(root: Path, folder: str, name: str, matter: str, symbol: str | None = None) -> Path:
    path = root / folder / f"{name}.c"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f" * {line}\n" for line in matter.splitlines())
    path.write_text(
        f"/*+++\n{lines} +++*/\n#include <deadbeat/fragment.h>\n"
        f"const struct db_fragment db_fragment_{symbol or name} = {{0}};\n"
    )
    return path


def complaint(root: Path) -> str:
    with pytest.raises(DataError) as caught:
        load_catalog(root)
    return caught.value.message


def test_reads_what_is_written(tmp_path):
    write(tmp_path, "sy", "mutex", SY)
    write(tmp_path, "ns", "matmul", NS)
    catalog = load_catalog(tmp_path)
    assert list(catalog.fragments) == ["matmul", "mutex"]
    matmul, mutex = catalog.fragments.values()
    assert (matmul.kind, matmul.sizes, matmul.path) == (Kind.NS, (4, 8, 16), "ns/matmul.c")
    assert (matmul.blocking, matmul.parallel, matmul.modes) == (None, True, ("default",))
    assert (mutex.blocking, mutex.hold, mutex.requires) == (
        True,
        "one counter increment",
        ("priority-ceiling",),
    )
    assert not (mutex.parallel or mutex.mixed_priorities or mutex.tsan)


def test_pools_and_layouts(tmp_path):
    write(tmp_path, "ns", "matmul", NS)
    write(tmp_path, "sy", "mutex", SY)
    shared = SY.replace('"mutex"', '"map"') + 'modes = ["shared-address-space"]\n'
    write(tmp_path, "sy", "map", shared)
    catalog = load_catalog(tmp_path)
    assert [str(entry) for entry in catalog.entries()] == [
        "matmul/4",
        "matmul/8",
        "matmul/16",
        "mutex/1",
        "mutex/16",
    ]
    assert catalog.entries("quick") == (Entry("matmul", 8),)
    # what runs in the default layout runs in any
    everywhere = set(catalog.entries(mode="shared-address-space"))
    assert everywhere == {*catalog.entries(), Entry("map", 1), Entry("map", 16)}
    with pytest.raises(UsageError, match=r"'fast'.*full, quick"):
        catalog.entries("fast")
    with pytest.raises(UsageError, match="layout"):
        catalog.entries(mode="threads")


def test_unknown_name_gets_the_nearest(tmp_path):
    write(tmp_path, "ns", "matmul", NS)
    catalog = load_catalog(tmp_path)
    assert catalog.fragment("matmul").name == "matmul"
    with pytest.raises(UsageError, match="did you mean matmul"):
        catalog.fragment("matmull")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("sizes = [4, 8, 16]", "sizes = [8, 4]", "ns/matmul.c:6: sizes: expected a list of ascend"),
        ("sizes = [4, 8, 16]", "sizes = []", "ns/matmul.c:6: sizes: expected"),
        ("sizes = [4, 8, 16]", "sizes = [0, 8]", "ns/matmul.c:6: sizes: expected"),
        ("sizes = [4, 8, 16]", "sizes = [true]", "ns/matmul.c:6: sizes: expected"),
        ("quick = [8]", "quick = [7]", "ns/matmul.c:8: quick: expected some of sizes"),
        ('kind = "NS"', 'kind = "SY"', "ns/matmul.c:3: kind: expected 'NS'"),
        ('kind = "NS"', "kind = 1", 'ns/matmul.c:3: kind: expected "NS" or "SY", found 1'),
        ('name = "matmul"', 'name = "matrix"', "ns/matmul.c:2: name: expected the name of the"),
        ("compute-integer", "compute", "ns/matmul.c:5: resource_class: expected compute-integer"),
        ('summary = "Dense', 'sumary = "Dense', "ns/matmul.c:4: sumary: unknown key; did you mean"),
        ('size_unit = "rows"\n', "", "ns/matmul.c:1: size_unit: missing"),
        ('origin = "own"', 'origin = "own', "ns/matmul.c:9: not TOML: Illegal character"),
        ('tacle = "matrix1"', "blocking = true", "ns/matmul.c:10: blocking: only SY"),
    ],
)
def test_each_error_names_line_and_key(tmp_path, old, new, expected):
    assert old in NS
    write(tmp_path, "ns", "matmul", NS.replace(old, new))
    assert expected in complaint(tmp_path)


def test_sy_must_state_blocking_and_hold(tmp_path):
    matter = "".join(
        line for line in SY.splitlines(keepends=True) if not line.startswith(("blocking", "hold"))
    )
    write(tmp_path, "sy", "mutex", matter)
    message = complaint(tmp_path)
    assert "blocking: missing" in message
    assert "hold: missing" in message


def test_all_errors_of_all_files_at_once(tmp_path):
    write(tmp_path, "ns", "matmul", NS.replace("[4, 8, 16]", "[9, 8]").replace('"rows"', "3"))
    write(tmp_path, "sy", "mutex", SY.replace("true", '"yes"'))
    (tmp_path / "sy" / "none.c").write_text("int x;\n")
    message = complaint(tmp_path)
    assert message.startswith("4 errors")
    for expected in ("sizes:", "size_unit:", "blocking:", "sy/none.c:1: no front matter"):
        assert expected in message


def test_the_definition_must_be_there(tmp_path):
    write(tmp_path, "ns", "matmul", NS, symbol="matrix")
    assert "db_fragment_matmul" in complaint(tmp_path)


def test_front_matter_leads_the_file_and_ends(tmp_path):
    path = write(tmp_path, "ns", "matmul", NS)
    text = path.read_text()
    path.write_text("#include <stdio.h>\n" + text)
    assert "leading comment" in complaint(tmp_path)
    path.write_text(text.replace("+++*/", "*/"))
    assert "expected '+++*/'" in complaint(tmp_path)
    path.write_bytes(b"/*+++\xff")
    assert "cannot be read" in complaint(tmp_path)


def test_a_name_belongs_to_one_file(tmp_path):
    write(tmp_path, "ns", "mutex", NS.replace('"matmul"', '"mutex"'))
    write(tmp_path, "sy", "mutex", SY)
    assert "taken by ns/mutex.c" in complaint(tmp_path)


def test_no_pools(tmp_path):
    with pytest.raises(DataError, match="no folder of fragment pools"):
        load_catalog(tmp_path)


def test_the_real_pool_is_sound():
    catalog = load_catalog()
    files = {path.stem for path in pools_root().glob("[ns][sy]/*.c")}
    assert set(catalog.fragments) == files
    assert set(catalog.entries("quick")) <= set(catalog.entries())

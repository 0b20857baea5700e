"""Every NS fragment, judged by its own check() and by what its contract (fragment.h) forbids.

A fragment is found by globbing: one more file is tested without a word here.
"""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from helpers import seldom
from helpers.native import compile_program

from deadbeat.build.native import index_source, native_root
from deadbeat.build.toolchain import Toolchain
from deadbeat.tasksets.catalog import Catalog, load_catalog

RUNTIME = native_root() / "runtime"
POOL = native_root() / "fragments" / "ns"
NAMES = tuple(sorted(path.stem for path in POOL.glob("*.c")))
each_fragment = pytest.mark.parametrize("name", NAMES)
#: Sanitizers take longest to compile: a few fragments of every form stand for all.
FEW = ("aes", "fft", "sort_heap")
few_or_others = pytest.mark.parametrize(
    "names", [FEW, *seldom((tuple(name for name in NAMES if name not in FEW),))]
)

ADDRESS_AND_UNDEFINED = (
    "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
)  # fmt: skip
THREADS = ("-O1", "-g", "-fsanitize=thread")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The NS pool alone: a mistake in another pool is not this module's matter."""
    root = tmp_path_factory.mktemp("pools")
    (root / "ns").symlink_to(POOL)
    return load_catalog(root)


def build_driver(
    folder: Path, sources: Sequence[Path], *, flags: Sequence[str] = ("-O2",), static: bool = True
) -> Run:
    """Links the driver with the fragments of ``sources``; returns a function that calls it."""
    index = folder / "ns_index.c"
    index.write_text(index_source([path.stem for path in sources]))
    driver = RUNTIME / "tests" / "ns_driver.c"
    program = compile_program(
        [driver, index, *sources], folder / "ns_driver", flags=flags, static=static
    )
    prefix = without_address_randomisation() if "-fsanitize=thread" in flags else []

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        argv = [*prefix, str(program), *map(str, arguments)]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    return run


def without_address_randomisation() -> list[str]:
    """ThreadSanitizer of gcc 12 does not start where mappings have 32 random bits."""
    prefix = ["setarch", "--addr-no-randomize"]
    if shutil.which(prefix[0]) is None:
        return []
    works = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    return prefix if works else []


def sources_of(names: Sequence[str] = NAMES) -> list[Path]:
    return [POOL / f"{name}.c" for name in names]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return build_driver(tmp_path_factory.mktemp("measured"), sources_of())


def accepted(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_index_holds_every_file(driver: Run) -> None:
    assert driver("list").stdout.split() == list(NAMES)


@each_fragment
def test_every_size_is_right(name: str, driver: Run, catalog: Catalog) -> None:
    for rank, size in enumerate(catalog.fragment(name).sizes):
        accepted(driver(name, size, 200 if rank < 4 else 3, 7))


@each_fragment
def test_threads_with_a_context_each_are_right(name: str, driver: Run, catalog: Catalog) -> None:
    for size in catalog.fragment(name).sizes[:4]:
        accepted(driver("threads", name, size, 300, 2))


@each_fragment
def test_an_emptied_kernel_is_refused(name: str, driver: Run, catalog: Catalog) -> None:
    for size in catalog.fragment(name).sizes:
        accepted(driver("emptied", name, size, 3))


@each_fragment
def test_an_earlier_calls_results_are_refused_and_data_differ_by_call_and_seed_alone(
    name: str, driver: Run, catalog: Catalog
) -> None:
    for mode, sizes in (("stale", 2), ("fresh", 3)):
        for size in catalog.fragment(name).sizes[:sizes]:
            accepted(driver(mode, name, size, 20))


@few_or_others
def test_address_and_undefined_behaviour_sanitizers_are_silent(
    names: Sequence[str], tmp_path: Path, catalog: Catalog
) -> None:
    driver = build_driver(tmp_path, sources_of(names), flags=ADDRESS_AND_UNDEFINED, static=False)
    for name in names:
        sizes = catalog.fragment(name).sizes
        for size in sizes[: max(3, len(sizes) // 2)]:
            accepted(driver(name, size, 5))


@few_or_others
def test_thread_sanitizer_is_silent(names: Sequence[str], tmp_path: Path, catalog: Catalog) -> None:
    driver = build_driver(tmp_path, sources_of(names), flags=THREADS, static=False)
    for name in names:
        for size in catalog.fragment(name).sizes[:2]:
            accepted(driver("threads", name, size, 20, 2))


@pytest.mark.parametrize("name", [*FEW, *seldom(*((n,) for n in NAMES if n not in FEW))])
def test_no_static_mutable_state_and_one_name(name: str, tmp_path: Path) -> None:
    """By the symbol table: all but T, t (code) and R, r (constants) is writable.

    Without PIE, constants need no relocation and so no writable section. The bound on the stack of
    one function leaves room for the vectors of a check(); run() stays far below.
    """
    made = tmp_path / f"{name}.o"
    flags = ("-O2", "-fno-pie", "-Wstack-usage=8192", "-c")
    argv = [Toolchain.find().cc, "-std=c11", *flags, "-Werror", f"-I{RUNTIME / 'include'}"]
    subprocess.run([*argv, str(POOL / f"{name}.c"), "-o", str(made)], check=True)
    listing = subprocess.run(
        ["nm", "--defined-only", str(made)], capture_output=True, text=True, check=True
    ).stdout
    symbols = [line.split()[1:] for line in listing.splitlines()]
    assert [symbol for symbol in symbols if symbol[0] not in "TtRr"] == []
    assert [symbol for kind, symbol in symbols if kind.isupper()] == [f"db_fragment_{name}"]


#: One operator, operand or bound changed in a kernel. Its check() has to see it.
ALTERED = {
    "adpcm": ("difference >= step", "difference > step"),
    "aes": ("column(s->table, c, d, a, b)", "column(s->table, c, d, b, a)"),
    "biquad": ("s->s2 = s->b2 * x - s->a2 * y;\n            x = y", "s->s2 = s->b2 * x;\n x = y"),
    "bitcount": ("ones[16] = {0, 1", "ones[16] = {0, 2"),
    "crc32": (
        "i < bytes; i++)\n        crc = (crc >> 8)",
        "i + 1 < bytes; i++)\n crc = (crc >> 8)",
    ),
    "dct": ("d2 * C1 - d3 * C5", "d2 * C1 + d3 * C5"),
    "dijkstra": ("distance + edge.weight >= node->distance)", "node->distance != UNREACHED)"),
    "fft": ("w.re * b.im + w.im * b.re", "w.re * b.im - w.im * b.re"),
    "fir": ("t < TAPS; t++)\n            sum += taps", "t < TAPS - 1; t++)\n sum += taps"),
    "huffman": ("code >> (length - free_bits)", "code >> (length - free_bits + 1)"),
    "kalman": ("p[i][2] * s01", "p[i][2] * s11"),
    "lu": ("j = i + 1; j < n", "j = i + 2; j < n"),
    "matmul": ("+ f3 * b3[j]", "- f3 * b3[j]"),
    "matmul_float": ("row[j] += f0 * b0[j]", "row[j] -= f0 * b0[j]"),
    "median": ("order(&p[1], &p[4]);", "order(&p[1], &p[3]);"),
    "memory_stream": ("i < count; i += GROUP", "i < count - GROUP; i += GROUP"),
    "pid": ("loop->derivative += FILTER", "loop->derivative -= FILTER"),
    "pointer_chase": ("hop = 0; hop < HOPS", "hop = 1; hop < HOPS"),
    "sad": ("x++) {\n            const", "x += 2) {\n            const"),
    "search_binary": ("low = middle + 1;", "low = middle + 2;"),
    "search_string": ("PATTERN - 1 - i)", "PATTERN - i)"),
    "sha256": ("rotate(v[0], 22)", "rotate(v[0], 23)"),
    "sobel": ("2 * (here[x + 1] - here[x - 1])", "(here[x + 1] - here[x - 1])"),
    "sort_heap": ("i = n / 2; i-- > 0", "i = n / 4; i-- > 0"),
    "sort_insertion": ("j > 0 && elements[j - 1] > x", "j > 1 && elements[j - 1] > x"),
    "statechart": ("window->locked = !window->locked", "window->locked = 0"),
}


@pytest.fixture(scope="module")
def altered_driver(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("altered")
    sources = []
    for name, (right, wrong) in ALTERED.items():
        text = (POOL / f"{name}.c").read_text()
        assert text.count(right) == 1, f"{name}: the line to alter has changed"
        sources.append(folder / f"{name}.c")
        sources[-1].write_text(text.replace(right, wrong))
    return build_driver(folder, sources)


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_kernel_is_refused(name: str, altered_driver: Run, catalog: Catalog) -> None:
    done = altered_driver(name, catalog.fragment(name).sizes[1], 50)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "WRONG: " in done.stdout

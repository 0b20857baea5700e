"""The rules that tests/quality keeps, as functions from a text to the violations in it."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath

from packaging.requirements import Requirement

MAY_PRINT = ("cli",)
MAY_START_PROCESSES = ("machine.targets", "build", "lab")
MAY_WRITE_FILES = ("base.store", "build", "base.report", "lab")
MAY_IMPORT_NATIVE = ("sched",)

DECISION_WORDS_MAX = 120
CHANGE_WORDS_MAX = 25

_PROCESS_MODULES = {"subprocess", "multiprocessing", "pty"}
_PROCESS_CALLS = re.compile(r"os\.(fork|forkpty|system|popen|exec\w+|spawn\w+|posix_spawnp?)")
_PROCESS_NAMES = {"ProcessPoolExecutor"}
_WRITING_METHODS = {"write_text", "write_bytes", "tofile", "savefig", "savetxt", "savez"}
_EXIT_CALLS = {
    "print",
    "exit",
    "quit",
    "sys.exit",
    "os._exit",
    "sys.stdout.write",
    "sys.stderr.write",
}
_OS_CONDITIONAL = re.compile(
    r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*\b(?:__linux__|__linux|linux|__unix__|_WIN32|__APPLE__"
    r"|__FreeBSD__|__QNX__|__ANDROID__|__CYGWIN__)\b"
)
# Assembled from pieces, because the rule also reads this file.
_HOMES = re.compile("(?<![\\w.])/" + "(?:home/\\w|root/|Users/\\w|work/)")
_REGISTRIES = re.compile(
    "|".join(["pypi" + r"\.", "pythonhosted" + r"\.", "npm" + "js", "index" + "-url"])
)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


# --- Python ------------------------------------------------------------------------------------


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """All of a module, read once for all rules."""
    return tuple(ast.walk(ast.parse(source)))


def package_of(path: str) -> str:
    """Room below ``src/deadbeat``: ``base.store`` of .../base/store/files.py, ``cli`` of
    .../cli/main.py; "" of the root's own files."""
    parts = PurePosixPath(path).relative_to("src/deadbeat").parts
    if len(parts) > 1:
        return (
            ".".join(parts[:2]).removesuffix(".py") if parts[0] in ("base", "machine") else parts[0]
        )
    stem = PurePosixPath(parts[0]).stem
    return "" if stem in ("__init__", "__main__") else stem


def imported_modules(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything imported; names imported from packages too."""
    package = PurePosixPath(path).relative_to("src").parts[:-1]
    for node in nodes(source):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *filter(None, [node.module])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def _imported_by_name(path: str, source: str) -> Iterator[str]:
    """Modules that ``import_module`` gets as a literal; ``{__package__}`` is the own package."""
    package = ".".join(PurePosixPath(path).relative_to("src").parts[:-1])
    for node in nodes(source):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            word = ast.unparse(node.args[0]).replace("{__package__}", package)
            yield word.removeprefix("f").strip("'\"")


def cycle(sources: Mapping[str, str]) -> list[str]:
    """Modules that import each other in a circle, lazily or for types alone too; []: none do."""
    modules = {
        path.removeprefix("src/")
        .rsplit(".", 1)[0]
        .removesuffix("/__init__")
        .replace("/", "."): path
        for path in sources
    }
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        names = [name for _, name in imported_modules(path, sources[path])]
        names += _imported_by_name(path, sources[path])
        found = {name if name in modules else name.rpartition(".")[0] for name in names}
        graph[module] = (found & modules.keys()) - {module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


#: Packages that rest on public names.
BESIDE = ("deadbeat_papers", "deadbeat_freertos")


def publication_violations(path: str, source: str) -> list[str]:
    """Packages beside ours that import more than public names; anything else that names one."""
    own = next((each for each in BESIDE if path.startswith(f"src/{each}/")), "")
    if not own:
        return [
            f"{path}:{n}: names {each}"
            for n, line in enumerate(source.splitlines(), 1)
            for each in BESIDE
            if each in line and f"src/{each}" not in line
        ]
    return [
        f"{path}:{line}: imports {name}, which is not public"
        for line, name in imported_modules(path, source)
        if name.startswith("deadbeat.") and name.count(".") > 1
    ]


def print_violations(path: str, source: str) -> list[str]:
    """Printing or exiting outside cli and ``__main__``."""
    if package_of(path) in MAY_PRINT or path.endswith("/__main__.py"):
        return []
    found = []
    for node in nodes(source):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _EXIT_CALLS:
            found.append(f"{path}:{node.lineno}: {ast.unparse(node.func)}() outside cli")
        elif isinstance(node, ast.Raise) and "SystemExit" in ast.unparse(node):
            found.append(f"{path}:{node.lineno}: raises SystemExit outside cli")
    return found


def native_violations(path: str, source: str) -> list[str]:
    """The native module imported outside sched."""
    if package_of(path) in MAY_IMPORT_NATIVE:
        return []
    return [
        f"{path}:{line}: imports {name} outside sched"
        for line, name in imported_modules(path, source)
        if "_core" in name.split(".")
    ]


def process_violations(path: str, source: str) -> list[str]:
    """Starting processes outside targets and build."""
    if package_of(path) in MAY_START_PROCESSES:
        return []
    found = [
        f"{path}:{line}: imports {name} outside {' and '.join(MAY_START_PROCESSES)}"
        for line, name in imported_modules(path, source)
        if name.split(".")[0] in _PROCESS_MODULES or name.split(".")[-1] in _PROCESS_NAMES
    ]
    for node in nodes(source):
        if isinstance(node, ast.Attribute) and _PROCESS_CALLS.fullmatch(ast.unparse(node)):
            found.append(f"{path}:{node.lineno}: {ast.unparse(node)} starts a process")
    return found


def _opens_for_writing(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    if isinstance(call.func, ast.Attribute) and call.func.attr in _WRITING_METHODS:
        return True
    if name == "os.open":
        words = ast.unparse(call)
        writes = any(flag in words for flag in ("O_WRONLY", "O_RDWR", "O_CREAT"))
        return writes and "devnull" not in words
    if not (name == "open" or name.endswith(".open")):
        return False
    # open(path, mode), but path.open(mode).
    position = 0 if isinstance(call.func, ast.Attribute) and name != "gzip.open" else 1
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    modes += call.args[position : position + 1]
    return any(
        isinstance(mode, ast.Constant)
        and isinstance(mode.value, str)
        and re.fullmatch(r"[rwaxbt+]+", mode.value) is not None
        and set(mode.value) & set("wax+") != set()
        for mode in modes
    )


def write_violations(path: str, source: str) -> list[str]:
    """Files opened for writing outside store, build and report (a heuristic on the usual calls)."""
    if package_of(path) in MAY_WRITE_FILES:
        return []
    return [
        f"{path}:{node.lineno}: {ast.unparse(node.func)}() writes a file"
        for node in nodes(source)
        if isinstance(node, ast.Call) and _opens_for_writing(node)
    ]


def dependency_violations(path: str, source: str, declared: Iterable[str]) -> list[str]:
    """Imports that are neither ours, nor Python's, nor declared."""
    known = {"deadbeat", *BESIDE, *sys.stdlib_module_names, *declared}
    return [
        f"{path}:{line}: {name.split('.')[0]} is not a declared dependency"
        for line, name in imported_modules(path, source)
        if name.split(".")[0] not in known
    ]


# --- any text ----------------------------------------------------------------------------------


def home_violations(path: str, text: str) -> list[str]:
    """Absolute paths that exist on one machine only."""
    return _matches(path, text, _HOMES, "an absolute path of one machine")


def registry_violations(path: str, text: str) -> list[str]:
    """Host names of package registries: which one is used is the machine's own business."""
    return _matches(path, text, _REGISTRIES, "a package registry")


def os_conditional_violations(path: str, text: str) -> list[str]:
    """Conditionals on the operating system outside runtime/port."""
    if path.startswith("runtime/port/") or not path.endswith((".c", ".h")):
        return []
    return _matches(path, text, _OS_CONDITIONAL, "an OS conditional outside runtime/port")


def _matches(path: str, text: str, pattern: re.Pattern[str], what: str) -> list[str]:
    return [
        f"{path}:{number}: {what}: {line.strip()[:80]}"
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


# --- front pages and documents -----------------------------------------------------------------


def make_targets(makefile: str) -> set[str]:
    """Names that can be given to make."""
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.M))


def readme_violations(readme: str, makefile: str) -> list[str]:
    """``make`` commands of the front page that make does not know; the two that must be there."""
    named = set(re.findall(r"\bmake ([a-z][a-z-]*)", readme))
    found = [f"README names `make {name}`, no target" for name in named - make_targets(makefile)]
    return found + [f"README lacks `make {name}`" for name in {"run", "test"} - named]


def link_violations(path: str, text: str, existing: set[str]) -> list[str]:
    """Relative links of a Markdown page to files that are not there."""
    found = []
    for link in _LINK.findall(text):
        if re.match(r"[a-z]+:|#", link):
            continue
        target = _resolve(path, link.partition("#")[0])
        if target not in existing:
            found.append(f"{path}: links to {link}, which is not there")
    return found


def anchor_violations(pages: dict[str, str]) -> list[str]:
    """Links of Markdown pages to headings that are not there."""
    anchors = {path: _anchors(text) for path, text in pages.items()}
    return [
        f"{path}: links to {link}, which has no such heading"
        for path, text in pages.items()
        for link in _LINK.findall(text)
        if "#" in link and not re.match(r"[a-z]+:", link)
        for page, _, name in [link.partition("#")]
        for target in [_resolve(path, page) if page else path]
        if target in anchors and name not in anchors[target]
    ]


def _anchors(text: str) -> set[str]:
    """What links can name on a page: its headings as the forge turns them into words, and marks."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", prose, re.M)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)
    return {*plain, *re.findall(r'<a id="([^"]+)"', text)}


def unlisted_pages(pages: dict[str, str]) -> list[str]:
    """Pages of docs/SECTION that the README of their folder does not link to."""
    found = []
    for path in pages:
        readme = str(PurePosixPath(path).parent / "README.md")
        if path == readme or not path.startswith("docs/"):
            continue
        links = {
            _resolve(readme, link.partition("#")[0])
            for link in _LINK.findall(pages.get(readme, ""))
        }
        if path not in links:
            found.append(f"{readme} does not list {path}")
    return found


def _resolve(path: str, link: str) -> str:
    parts: list[str] = list(PurePosixPath(path).parent.parts)
    for part in PurePosixPath(link).parts:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return "/".join(parts)


def words_of(text: str) -> int:
    """Words of prose: pieces between spaces that hold a letter or a digit; of a link its text."""
    return len(re.findall(r"\S*\w\S*", re.sub(r"\]\([^)]*\)", "]", text)))


def changelog_violations(text: str) -> list[str]:
    """A missing section for what is not released, and changes that take more than a line."""
    found = [] if "\n## [Unreleased]\n" in text else ["CHANGELOG.md has no section [Unreleased]"]
    changes = re.findall(r"^- (.*(?:\n  .*)*)", text, re.M)
    counts = [(words_of(change), change) for change in changes]
    return found + [f"{n} words: {change}" for n, change in counts if n > CHANGE_WORDS_MAX]


def decision_violations(path: str, text: str) -> list[str]:
    """A record that is longer than its bound, without title and date."""
    count = words_of(re.sub(r"\A# .*\n+(Date: .*\n)?", "", text))
    return [f"{path}: {count} words"] if count > DECISION_WORDS_MAX else []


def licence_violations(licence: str, pyproject: str) -> list[str]:
    """The licence is the one that pyproject.toml names, in full."""
    name = tomllib.loads(pyproject)["project"]["license"]
    whole = all(words in licence for words in ("Apache License", "Version 2.0", "END OF TERMS"))
    return [] if name == "Apache-2.0" and whole else [f"LICENSE is not the whole of {name}"]


def pins(requirements: Sequence[str]) -> dict[str, str]:
    """Name -> version of ``name==version`` lines; anything looser is left out.

    Packagers write a hyphen or an underscore for the same name: here it is the hyphen.
    """
    pairs = (
        line.split("==")
        for line in (line.removesuffix("\\").strip() for line in requirements)
        if re.fullmatch(r"[\w.-]+==[\w.]+", line)
    )
    return {name.replace("_", "-"): version for name, version in pairs}


def names_of(requirements: Iterable[str]) -> list[str]:
    """Names of requirements, whatever versions they allow."""
    return [Requirement(line).name for line in requirements]


def lock_violations(pyproject: str, run_lock: str, dev_lock: str, decision: str) -> list[str]:
    """Requirements without a bound, locks outside of them, dependencies without a reason."""
    content = tomllib.loads(pyproject)
    extras = content["project"]["optional-dependencies"]
    run = content["build-system"]["requires"] + content["project"]["dependencies"]
    every = [*run, *extras["dev"], *extras.get("bench", [])]
    found = [f"{line} allows any version" for line in every if not Requirement(line).specifier]
    run_pins, dev_pins = pins(run_lock.splitlines()), pins(dev_lock.splitlines())
    for name, lock, wanted in (
        ("requirements.lock", run_pins, run),
        ("requirements-dev.lock", dev_pins, [*run, *extras["dev"]]),
    ):
        for line in map(Requirement, wanted):
            if not line.specifier.contains(lock.get(line.name, "")):
                found.append(f"{name}: {line.name} is not {line.specifier}; run tools/lock")
    for name, version in run_pins.items():
        if dev_pins.get(name) != version:
            found.append(f"requirements-dev.lock: {name} is not {version}; run tools/lock")
    named = set(re.findall(r"[\w-]+", decision))
    reasonless = [name for name in dict.fromkeys(names_of(every)) if name not in named]
    return found + [f"decision 0002 gives no reason for {name}" for name in reasonless]

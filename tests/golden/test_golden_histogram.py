"""Truth: the golden table of buckets, which C and Python must both number so."""

import csv
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from deadbeat.base.model.histogram import SUB_BITS, bucket_high, bucket_low, bucket_of

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "runtime" / "include"
GOLDEN = HERE / "histogram-buckets.csv"


def rows() -> list[tuple[int, ...]]:
    with GOLDEN.open() as file:
        return [tuple(map(int, row)) for row in list(csv.reader(file))[1:]]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler, "a C compiler is needed"
    made = tmp_path_factory.mktemp("histogram") / "histogram"
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]
    flags += ["-fno-sanitize-recover", "-I", str(INCLUDE)]
    subprocess.run([compiler, *flags, HERE / "histogram.c", "-o", made], check=True)

    def ask(lines: str) -> list[str]:
        done = subprocess.run([made], input=lines, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    return ask


def test_python_numbers_the_buckets_of_the_golden_table() -> None:
    for value, bucket, low, high in rows():
        assert (bucket_of(value), bucket_low(bucket), bucket_high(bucket)) == (bucket, low, high)


def test_c_numbers_the_buckets_of_the_golden_table(said: Callable[[str], list[str]]) -> None:
    values = "".join(f"v {row[0]}\n" for row in rows())
    assert said(values) == [",".join(map(str, row)) for row in rows()]


def test_every_value_of_63_bits_has_a_bucket_in_c() -> None:
    header = (INCLUDE / "deadbeat" / "histogram.h").read_text()
    assert f"#define DB_SUB_BITS {SUB_BITS}\n" in header
    assert "#define DB_BUCKETS ((63 - DB_SUB_BITS + 1) << DB_SUB_BITS)\n" in header
    assert bucket_of(2**63 - 1) == ((63 - SUB_BITS + 1) << SUB_BITS) - 1


def test_a_row_of_values_is_counted_as_its_values_one_by_one(said: Callable[[str], list[str]]):
    draw = random.Random(5)
    asked = [(0, 1, 1), (5000, 1000, 6), (10**15, 10**12, 1000), (3 * 10**6, 1, 5000)]
    for _ in range(50):
        step, count = draw.randrange(1, 10**7), draw.randrange(1, 2000)
        asked.append((draw.randrange(step) + step * (count - 1), step, count))
    lines = [f"{last} {step} {count}\n" for last, step, count in asked]
    assert said("r ".join(["", *lines])) == said("s ".join(["", *lines]))


def test_a_row_of_a_day_takes_no_longer_than_its_buckets(said: Callable[[str], list[str]]) -> None:
    # 24 h at 20 us: 4.3e9 missed periods, in the time of a few thousand buckets
    count = 24 * 3600 * 50_000
    (line,) = said(f"r {20_000 * (count - 1)} 20000 {count}\n")
    total, least, most, sum_ns, *counts = line.split()
    assert (int(total), int(least), int(most)) == (count, 0, 20_000 * (count - 1))
    assert int(sum_ns) == 20_000 * count * (count - 1) // 2 > 2**64
    assert sum(int(pair.split(":")[1]) for pair in counts) == count

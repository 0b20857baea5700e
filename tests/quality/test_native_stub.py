"""The stub of the native module is what nanobind writes for the module that is built."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_stub_is_that_of_the_module(tmp_path):
    stub = tmp_path / "_core.pyi"
    subprocess.run([str(ROOT / "tools/stub"), str(stub)], check=True)
    committed = (ROOT / "src/deadbeat/sched/_core.pyi").read_text()
    assert stub.read_text() == committed, "renew it: tools/stub"

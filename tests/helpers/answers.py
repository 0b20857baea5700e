"""What a command printed with ``--json``, checked against the published schema."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from deadbeat.cli.main import main

Capture = pytest.CaptureFixture[str]
SCHEMA = Path(__file__).parents[2] / "docs/reference/answer.schema.json"


@functools.cache
def validator() -> Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def answer_of(text: str) -> Any:
    """The results of an answer, with what its envelope says of it where they are an object."""
    envelope = json.loads(text)
    validator().validate(envelope)
    results = envelope["results"]
    if not isinstance(results, dict):
        return results
    return {**{key: envelope[key] for key in ("kind", "state", "headline", "findings")}, **results}


def answer(capsys: Capture, *words: str, status: int = 0) -> Any:
    """What a command prints with ``--json``, which must be all of stdout."""
    capsys.readouterr()
    assert main((*words, "--json")) == status
    return answer_of(capsys.readouterr().out)

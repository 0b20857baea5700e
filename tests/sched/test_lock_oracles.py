"""Truth: issue 31: worked examples of independent tools: accepted and responses, by the command."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import answer_of
from helpers.sched import worst_responses
from oracles.worked import worked

from deadbeat.cli.main import main
from deadbeat.sched.files import load_task_system

#: By kind of example: the tests, each with the key under `expected` of its answers.
TESTS = {
    **{name: {name: ""} for name in ("pinned-fifo-pi", "mpcp", "mpcp-virtual-spin", "fmlp-plus")},
    **{name: {name: ""} for name in ("dpcp", "global-fifo-pi", "fp-suspension", "edf-response")},
    "fifo-response": {"fifo-response": ""},
    **{kind: {"edf-response": ""} for kind in ("edf-nonpreemptive", "edf-floating")},
    **{
        f"fp-{word}": {"uni-rta": ""} for word in ("jitter", "nonpreemptive", "limited", "floating")
    },
    **{kind: {kind: ""} for kind in ("fp-arrival-curve", "edf-arrival-curve")},
    "srp-fp": {"uni-rta": ""},
    "srp-edf": {"qpa": ""},
    "msrp": {"msrp": "classic", "msrp-holistic": "holistic"},
}
#: Less than the tools say. Virtual spinning: they count sections on a lock of one task against
#: more urgent tasks (3 of each of the last two), which no other task can wait for. Suspension: they
#: list nothing where one task fails; with R - C as jitter the second task has 36 + 5 + 37.
BETTER = {"mpcp-virtual-spin-01": [6, 5, 48, 77, 13, 4], "fp-suspension-03": [55, 78, 119]}


def examples(kind: str) -> list[dict[str, Any]]:
    found = worked(kind)
    assert all(each["analysis"] == kind for each in found)
    return found


def task_of(example: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    task = dict(task)
    if "sections" in task:
        task["sections"] = [{**each, "lock": f"l{each['lock']}"} for each in task["sections"]]
    if example["analysis"].endswith("-nonpreemptive"):
        task["np_max"] = task["np_last"] = task["wcet"]
    return task


def system_of(example: dict[str, Any]) -> dict[str, Any]:
    """In the format of files: locks have names."""
    system = example["system"]
    if dag := system.get("dag"):  # one task, released again when it is due
        dag = {"nodes": dag["nodes"], "edges": dag["edges"]}
        task = {"wcet": sum(dag["nodes"]), "period": system["dag"]["deadline"], "dag": dag}
        return {"processors": system["processors"], "tasks": [task]}
    tasks = [task_of(example, task) for task in system["tasks"]]
    used = {each["lock"] for task in system["tasks"] for each in task.get("sections", ())}
    locks = [{"name": f"l{lock}"} for lock in sorted(used)]
    return {"processors": system["processors"], "tasks": tasks, "locks": locks}


def analysed(capsys, file: Path, system: dict[str, Any], test: str) -> dict[str, Any]:
    file.write_text(json.dumps(system))
    main(("sched", "analyze", str(file), "--test", test, "--priorities", "given", "--json"))
    [found] = answer_of(capsys.readouterr().out)["tests"]
    assert found["test"] == test
    return found


@pytest.mark.parametrize(
    ("kind", "test", "key"), [(kind, *pair) for kind in TESTS for pair in TESTS[kind].items()]
)
def test_worked_examples(kind, test, key, capsys, tmp_path):
    for example in examples(kind):
        expected = example["expected"]
        chosen = expected[key] if key else expected
        accepted = chosen.get("schedulable", expected["accepted"])
        responses = chosen.get("response_from_nominal_release", chosen.get("response"))
        if "suspension_oblivious" in expected:  # both are safe: the smaller counts
            pairs = zip(responses, expected["suspension_oblivious"], strict=True)
            responses = [min((each for each in pair if each), default=None) for pair in pairs]
            accepted = None not in responses
        found = analysed(capsys, tmp_path / "system.json", system_of(example), test)
        assert (found["answer"] == "accepted") == accepted, (example["id"], found["reason"])
        if accepted and responses:
            assert found["bounds"] == BETTER.get(example["id"], responses), example["id"]
            least = expected.get("observed_at_least", [0] * len(responses))
            pairs = zip(found["bounds"], least, strict=True)
            assert all(bound >= seen for bound, seen in pairs), example["id"]


def test_all_schedules_without_preemption(capsys, tmp_path):
    """SAG's responses over a hyper-period; where a job misses there are no bounds."""
    for example, test in zip(examples("np-periodic-jitter"), ("fp", "edf"), strict=True):
        expected, system = example["expected"], system_of(example)
        found = analysed(capsys, tmp_path / "system.json", system, f"np-periodic-{test}")
        assert found["answer"] == ("accepted" if expected["accepted"] else "refuted")
        if expected["accepted"]:
            assert found["bounds"] == expected["response"]


def test_graphs_of_nodes(capsys, tmp_path):
    """Graham's bound, and how many processors federated scheduling gives it."""
    file = tmp_path / "system.json"
    for example in examples("dag-graham"):
        system, expected = system_of(example), example["expected"]
        found = analysed(capsys, file, system, "dag-graham")
        assert (found["answer"], found["bounds"]) == ("accepted", [int(expected["graham_bound"])])
        for processors in range(1, 5):
            found = analysed(capsys, file, {**system, "processors": processors}, "dag-federated")
            enough = processors >= expected["cores_for_deadline"]
            assert (found["answer"] == "accepted") == enough


@pytest.mark.parametrize("kind", ["omlp-global", "omlp-clustered"])
def test_waiting_as_execution(kind, capsys, tmp_path):
    """Periods and deadlines times 100 leave what waits as it is, and room for it: the bounds of
    each cluster are those of rta-fp for tasks without locks of the wcet that the example has."""
    file = tmp_path / "system.json"
    for example in examples(kind):
        system = system_of(example)
        size = example["system"].get("cluster_size", system["processors"])
        bare: dict[int, list[dict[str, Any]]] = {}
        wcets = example["expected"]["inflated_wcet"]
        for task, wcet in zip(system["tasks"], wcets, strict=True):
            task |= {key: 100 * task[key] for key in ("period", "deadline")}
            plain = {key: task[key] for key in task if key not in ("sections", "home")}
            bare.setdefault(task.get("home", 0), []).append({**plain, "wcet": wcet})
        bounds = {
            home: analysed(capsys, file, {"processors": size, "tasks": tasks}, "rta-fp")["bounds"]
            for home, tasks in bare.items()
        }
        found = analysed(capsys, file, system, kind)
        assert found["answer"] == "accepted", example["id"]
        assert found["bounds"] == [bounds[task.get("home", 0)].pop(0) for task in system["tasks"]]


def test_a_plain_mutex_waits_for_strangers(tmp_path, capsys):
    """The most urgent task's response grows with the wcet of a task that shares nothing."""
    [example] = examples("plain-mutex")
    for row in example["expected"]["rows"]:
        example["system"]["tasks"][1]["wcet"] = row["wcet_of_middle"]
        (tmp_path / "system.json").write_text(json.dumps(system_of(example)))
        for protocol, key in (("none", "plain_mutex"), ("inherit", "with_inheritance")):
            words = ("--priorities", "given", "--protocol", protocol, "--set", "patterns=2000")
            main(("sched", "simulate", str(tmp_path / "system.json"), *words, "--json"))
            found = answer_of(capsys.readouterr().out)["tasks"]
            seen = [task["response_max"] for task in found]
            assert all(a >= b for a, b in zip(seen, row[f"{key}_observed"], strict=True)), seen
            assert protocol == "none" or seen[0] == 2 + 3


@pytest.mark.parametrize(
    ("kind", "protocol"),
    [
        ("pinned-fifo-pi", "inherit"),
        ("srp-fp", "srp"),
        ("msrp", "msrp"),
        ("mpcp", "mpcp"),
        ("fmlp-plus", "fmlp+"),
        ("fp-suspension-flawed", "none"),
    ],
)
def test_the_simulator_sees_what_was_observed(kind, protocol, tmp_path):
    """Random patterns: nearly as much, most often more; never more than the bounds."""
    file = tmp_path / "system.json"
    for example in examples(kind):
        file.write_text(json.dumps(system_of(example)))
        system, least = load_task_system(file).system, example["expected"]["observed_at_least"]
        long = worst_responses(system, protocol=protocol, patterns=200)
        dense = worst_responses(system, protocol=protocol, patterns=5000, horizon=14, window=14)
        seen = [max(pair) for pair in zip(long, dense, strict=True)]
        assert all(a >= 0.9 * b for a, b in zip(seen, least, strict=True)), example["id"]
        bounds = example["expected"].get("response") or [None]
        if None not in bounds:
            assert all(a <= b for a, b in zip(seen, bounds, strict=True)), example["id"]

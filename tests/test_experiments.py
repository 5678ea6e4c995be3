"""The runner of the experiments: what is killed goes on, what is counted is right, what is far away is said."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from experiments import declared, figures, problems, summary, trials
from experiments.experiment import CHEAP, DEAR, Line, Trials
from experiments.methods import kernels_on_fresh_draws, mean_witnesses_on_fresh_draws, witness_on_fresh_draws
from experiments.problems import liu_at, liu_fresh, without
from experiments.trials import Clock, Declared, Kept, Task, compute, tasks_of
from tellapart import Fisher, Permutation
from tellapart.kernels import Gaussian

ROOT = Path(__file__).parents[1]
SMALL = Declared("small_experiments")
PRESENT = [e for e in SMALL.experiments if not e.needs]


def command(folder, *options):
    out, cache = folder / "out", folder / "cache"
    return [
        *(sys.executable, "-m", "experiments.run", "--declared", "small_experiments"),
        *("--out", str(out), "--cache", str(cache), "--only", "small_power", "small_null", *options),
    ]


def environment(pids=None):
    path = os.pathsep.join(map(str, (ROOT / "tests", ROOT, ROOT / "src")))
    return os.environ | {"PYTHONPATH": path} | ({"PIDS": str(pids)} if pids else {})


def run(folder, *options):
    done = subprocess.run(
        command(folder, *options), cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def wait_for(condition, seconds=60):
    for _ in range(50 * seconds):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def is_alive(pid):
    """Not gone, and no zombie that waits to be fetched."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_killed_run_goes_on_and_ends_as_if_it_had_never_been_killed(tmp_path):
    whole, killed, pids = tmp_path / "whole", tmp_path / "killed", tmp_path / "pids"
    pids.mkdir()
    run(whole)
    kept = killed / "cache" / "trials.jsonl"
    with subprocess.Popen(
        command(killed), cwd=ROOT, env=environment(pids), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        wait_for(lambda: kept.exists() and len(kept.read_bytes().splitlines()) >= 5 and any(pids.iterdir()))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    wait_for(lambda: not any(is_alive(int(path.name)) for path in pids.iterdir()))  # no process is left behind
    before = kept.read_bytes().splitlines()
    total = len(tasks_of([e for e in PRESENT if e.name != "small_cost"], quick=False))
    assert 5 <= len(before) < total
    assert not list((killed / "out").glob("*.json"))
    kept.write_bytes(b"\n".join(before)[:-7])  # and it died in the middle of a line

    run(killed)
    after = kept.read_bytes().splitlines()
    assert after[: len(before) - 1] == before[:-1]
    assert len(after) == total + 1  # every chunk once, and the torn line
    for name in ("small_power", "small_null"):
        assert (killed / "out" / f"{name}.json").read_bytes() == (whole / "out" / f"{name}.json").read_bytes()
        assert (killed / "out" / f"{name}.svg").read_bytes() == (whole / "out" / f"{name}.svg").read_bytes()
    assert (killed / "out" / "tables.md").read_bytes() == (whole / "out" / "tables.md").read_bytes()


def test_ctrl_c_stops_with_a_word(tmp_path):
    kept = tmp_path / "cache" / "trials.jsonl"
    with subprocess.Popen(
        command(tmp_path), cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(lambda: kept.exists() and kept.read_text())
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "the same command goes on from there" in said
    assert "Traceback" not in said


def test_absent_data_are_left_out_with_one_line(tmp_path):
    done = subprocess.run(
        [*command(tmp_path)[:-3], "--only", "absent"],
        cwd=ROOT,
        env=environment() | {"TELLAPART_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"left out: absent (no no_such_file.npz in {tmp_path}; name the folder with --data" in done.stdout
    assert not list((tmp_path / "out").glob("*.json"))


def values_of(folder, quick=False, experiments=PRESENT):
    """In this process: as the pool's processes do it."""
    kept = Kept(folder / "trials.jsonl", SMALL)
    values, _ = kept.read()
    for task in tasks_of(experiments, quick):
        if task not in values:
            _, values[task], seconds = SMALL.run(task)
            kept.add(task, values[task], seconds)
    return values


def test_the_trials_of_a_quick_run_are_the_first_of_a_full_one(tmp_path):
    rates = [e for e in PRESENT if e.measure == "rate" and e.name == "small_null"]
    quick = values_of(tmp_path, True, rates)
    assert len(quick) == 1
    full = values_of(tmp_path, False, rates)
    assert len(full) == 3
    assert all(full[task] == found for task, found in quick.items())


def test_processes_do_not_change_what_is_found(tmp_path):
    rates = [e for e in PRESENT if e.name == "small_null"]
    here = values_of(tmp_path / "here", True, rates)
    there = compute(SMALL, tasks_of(rates, True), Kept(tmp_path / "there" / "trials.jsonl", SMALL), 2)
    assert here == there[0]
    assert there[1].keys() == here.keys()


def test_named_lines_are_run_again_and_the_others_stay(tmp_path):
    run(tmp_path, "--quick")
    path = tmp_path / "out" / "small_power.json"
    before = json.loads(path.read_text())
    for line in before["lines"]:
        for p in line["points"]:
            p["rate"] = -1.0
    before["lines"] = [line for line in before["lines"] if line["line"] != "sets"]
    path.write_text(json.dumps(before))
    done = run(tmp_path, "--quick", "--lines", "t", "sets")
    after = {line["line"]: [p["rate"] for p in line["points"]] for line in json.loads(path.read_text())["lines"]}
    assert list(after) == ["t", "slow", "few rows", "all rows", "sets"]
    assert all((rate >= 0) == (name in ("t", "sets")) for name, rates in after.items() for rate in rates)
    costs = json.loads((tmp_path / "out" / "cpu_seconds.json").read_text())
    assert set(costs["lines"]["small_power"]) == {"t", "sets"}
    assert f"{costs['all']:.0f} CPU seconds in all" in done.stdout


def test_lines_and_points_that_are_not_new_stay():
    def made(**lines):
        return {"lines": [{"line": n, "points": [{"x": x, "rate": r} for x, r in ps]} for n, ps in lines.items()]}

    before = made(a=[(1, 0.1), (2, 0.1), (4, 0.1)], b=[(1, 0.1)])
    after = summary.with_kept_lines(made(a=[(2, 0.2), (3, 0.2)], c=[(1, 0.2)]) | {"title": "new"}, before)
    assert after["lines"] == made(a=[(1, 0.1), (2, 0.2), (3, 0.2), (4, 0.1)], b=[(1, 0.1)], c=[(1, 0.2)])["lines"]
    assert after["title"] == "new"


def test_a_line_that_is_not_declared_is_named(tmp_path):
    done = subprocess.run(
        command(tmp_path, "--lines", "u"), cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "--lines must name lines of these experiments, got u. There are t; slow" in done.stderr


def test_seconds_add_up():
    costs = summary.spent({Task("a", "t", 1.0, 0): 1.25, Task("a", "t", 2.0, 0): 0.5, Task("b", "t", 1.0, 0): 2.0})
    assert costs == {"all": 3.8, "experiments": {"a": 1.8, "b": 2.0}, "lines": {"a": {"t": 1.75}, "b": {"t": 2.0}}}


def test_what_is_kept_counts_only_for_the_same_declaration_and_code(tmp_path, monkeypatch):
    kept = Kept(tmp_path / "trials.jsonl", SMALL)
    task = tasks_of(PRESENT, True)[0]
    kept.add(task, [0.5], 0.1)
    assert kept.read() == ({task: [0.5]}, {task: 0.1})
    monkeypatch.setattr(trials, "source_hash", lambda: "other code")
    assert kept.read() == ({}, {})
    (tmp_path / "trials.jsonl").write_text('["gone", "line", 1.0, 0, "key", [0.5], 0.1]\n[1, 2\n\n')
    assert kept.read() == ({}, {})


def test_the_key_does_not_depend_on_the_process():
    code = (
        "from experiments.trials import Declared, tasks_of\n"
        "d = Declared('experiments.declared')\n"
        "print([d.key(t) for t in tasks_of(d.experiments, True) if t.start == 0])"
    )
    first, second = (
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, check=True)
        for _ in range(2)
    )
    assert first.stdout == second.stdout
    keys = json.loads(first.stdout.decode().replace("'", '"'))
    assert len(set(keys)) > 30


def test_first_chunks_come_first_and_methods_that_are_too_slow_do_not_come():
    tasks = tasks_of(PRESENT, quick=False)
    assert [t.start for t in tasks] == sorted(t.start for t in tasks)
    assert {t.x for t in tasks if t.line == "few rows"} == {10.0}
    assert {t.x for t in tasks if t.line == "all rows"} == {10.0}
    assert len(tasks) == len(set(tasks))


def test_the_clock_knows_what_it_has_seen():
    clock = Clock(processes=2)
    here, there = (Task("e", "line", x, 0) for x in (1.0, 2.0))
    assert clock.left([here, there]) == 1.0  # a second each, until something is known
    clock.learn(here, 4.0)
    clock.learn(here, 6.0)
    assert clock.left([here]) == 2.5
    assert clock.left([here, there]) == 5.0
    clock.started, clock.worked = time.monotonic() - 10.0, 5.0  # others are at work: half a second in a second
    assert clock.left([here]) == pytest.approx(10.0, rel=0.01)


def test_summary_counts(tmp_path):
    values = values_of(tmp_path)
    power, null, cost = (summary.summarised(e, values, quick=False) for e in PRESENT)
    lines = {line["line"]: line["points"] for line in power["lines"]}
    for name in ("t", "slow"):
        for p in lines[name]:
            found = [v for start in (0, 10, 20) for v in values[Task("small_power", name, p["x"], start)]]
            assert p["trials"] == len(found) == 30
            assert p["rejections"] == sum(v <= 0.05 for v in found)
            assert p["rate"] == p["rejections"] / 30
            assert p["se"] == pytest.approx(np.sqrt(p["rate"] * (1 - p["rate"]) / 30))
    assert [p["x"] for p in lines["few rows"]] == [10]
    assert lines["sets"][0]["test_sets"] == 3
    assert null["under_null"]
    seconds = cost["lines"][0]["points"][0]
    assert seconds["trials"] == 3
    assert 0 < seconds["quartiles"][0] <= seconds["seconds"] <= seconds["quartiles"][1]


def test_the_error_of_several_test_sets_is_over_trainings():
    row = summary.rate([[0.01, 0.01], [0.5, 0.01], [0.5, 0.5], [0.01, 0.5]])
    shares = np.array([1.0, 0.5, 0.0, 0.5])
    assert row["rate"] == 0.5
    assert row["se"] == pytest.approx(shares.std(ddof=1) / 2)
    assert np.isnan(summary.rate([[0.01, 0.5]])["se"])


def ours(rate, n=1000):
    return summary.rate([0.0] * round(rate * n) + [1.0] * (n - round(rate * n)))


def test_points_far_from_the_authors_are_said_with_their_reason_or_as_unexplained():
    theirs = {"rejections": 50, "trials": 100}
    near, far = (summary.compared(ours(r), theirs, "their solver") for r in (0.52, 0.8))
    assert abs(near["standard_errors_apart"]) < 1
    assert "reason" not in near
    # by hand: pooled share 850 / 1100
    error = np.sqrt(850 / 1100 * 250 / 1100 * (1 / 1000 + 1 / 100))
    assert far["standard_errors_apart"] == round(0.3 / error, 2)
    assert far["reason"] == "their solver"
    unexplained = summary.compared(ours(0.8), theirs, "")
    s = {
        "experiment": "e",
        "title": "T",
        "x_label": "x",
        "command": "make paper",
        "level": 0.05,
        "lines": [
            {"line": "with", "across": False, "points": [ours(0.8) | {"x": 1.0} | far]},
            {"line": "none", "across": False, "points": [ours(0.8) | {"x": 1.0} | unexplained]},
            {"line": "near", "across": True, "points": [ours(0.52) | {"x": 1.0} | near]},
        ],
    }
    text = summary.tables([s])
    assert "3 points exist in both; 2 of them lie more than 3 standard errors apart" in text
    assert "- `e`, with, at 1: +6.83 standard errors. their solver".replace("6.83", f"{0.3 / error:.1f}") in text
    assert "standard errors. **Unexplained.**" in text
    assert "| with | 0.800 ± 0.013 (0.500) |" in text
    assert "| near (all rows) | 0.520 ± 0.016 (0.500) |" in text


def test_trainings_of_the_authors_count_as_trainings():
    """Two runs at 0.2 and 0.8: their mean is known to 0.3, whatever the number of test sets; one run says nothing."""
    runs = {"rejections": 100, "trials": 200, "per_training_run": [0.2, 0.8]}
    row = summary.compared(ours(0.9), runs, "")
    assert row["standard_errors_apart"] == round(0.4 / np.hypot(0.3, np.sqrt(0.09 / 1000)), 2)
    single = summary.compared(ours(0.9), runs | {"per_training_run": [0.5]}, "")
    assert "standard_errors_apart" not in single
    assert single["authors"]["rate"] == 0.5


def test_every_declared_line_can_be_found_and_compared():
    known = {(r["experiment"], r["method"]) for r in summary.authors()["rows"]}
    names = [e.name for e in declared.EXPERIMENTS]
    assert len(names) == len(set(names))
    for e in declared.EXPERIMENTS:
        assert len({line.name for line in e.lines}) == len(e.lines), e.name
        assert {"tell_apart", "tell_apart, prequential"} <= {line.name for line in e.lines}, e.name
        for quick in (True, False):
            lines = [line for line in e.lines if line.size != ("full" if quick else "quick")]
            assert all(e.trials(line, quick) % e.chunk == 0 for line in lines), e.name
            assert all(e.points(line, quick) for line in lines), e.name
        compared = [line for line in e.lines if any((name, line.authors) in known for name in (e.name, *e.beside))]
        assert compared or e.needs, e.name


@pytest.mark.parametrize("experiment", declared.EXPERIMENTS, ids=lambda e: e.name)
def test_every_declared_line_runs(experiment):
    """On small draws; the real ones of HIGGS need its file. Full lines are quick ones with larger numbers."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(24, 2)), rng.normal(size=(24, 2)) + 0.5
    small = replace(experiment, draw=lambda at, rng: (x, y), measure="rate", fresh=lambda at, learned, rng: (x, y))
    for line in experiment.lines:
        if line.size == "full":
            continue
        if line.together:
            pvalues = np.array(trials.said_together(small, line, 0.5, range(2)))
        else:
            pvalues = np.atleast_1d(trials.said(small, line, 0.5, 0))
        assert ((pvalues > 0) & (pvalues <= 1)).all(), line.name


class LearnsMedian:
    """Learns kernels whose bandwidths are the median distances of the rows that learn."""

    def learn_kernels(self, trains, rng):
        return [Gaussian(float(np.median(np.linalg.norm(t.pooled[:, None] - t.pooled, axis=2)))) for t in trains]


def test_one_training_is_judged_on_several_fresh_draws():
    x, y = liu_at(False, 20, np.random.default_rng(0))
    seen, fresh = recorded_fresh()
    learner, rng = Fisher(Gaussian(0.3), 1e-2), np.random.default_rng(1)
    pvalues = witness_on_fresh_draws(learner, Permutation(19), 6, x, y, 20, rng, fresh=fresh)
    assert pvalues.shape == (6,)
    assert len(np.unique(pvalues)) > 1 or pvalues[0] == 0.05  # each judged on its own draw
    assert [len(learned) for learned in seen] == [len(x)] * 6  # half of both samples learned


@pytest.mark.parametrize("method", [kernels_on_fresh_draws, mean_witnesses_on_fresh_draws])
def test_trainings_side_by_side_are_judged_each_on_its_own_fresh_draws(method):
    """As a chunk of the runner: each training is what it is alone, and no test set knows of another training."""
    seen, fresh = recorded_fresh()
    line = Line("trained", partial(method, LearnsMedian(), Permutation(19), 5), fresh=True, together=True)
    e = replace(declared.BENCHMARKS[0], fresh=fresh)
    both = np.array(trials.said_together(e, line, 20, range(2)))
    assert both.shape == (2, 5)
    first, second = seen[:5], seen[5:]
    for learned, trial in ((first, 0), (second, 1)):
        (x, y), _ = trials.drawn(e, line, 20, trial)
        half = np.concatenate([x[: len(x) // 2], y[: len(y) // 2]])
        assert all(np.array_equal(rows, half) for rows in learned)
    np.testing.assert_array_equal(both[1], trials.said_together(e, line, 20, range(1, 2))[0])


def recorded_fresh():
    """A source of test sets that remembers the rows that have learned."""
    seen = []

    def fresh(at, learned, rng):
        seen.append(learned)
        return liu_fresh(False, at, learned, rng)

    return seen, fresh


def test_what_is_trained_for_less_long_in_a_quick_run_says_so():
    (e,) = (e for e in declared.EXPERIMENTS if e.name == "liu_power")
    lines = {quick: {line.name for line in e.lines if e.points(line, quick)} for quick in (True, False)}
    assert {"MMD-D, 100 epochs", "MMD-D-witness, 100 epochs"} <= lines[True]
    assert {"MMD-D", "MMD-D-witness"} <= lines[False]
    assert not lines[True] & {"MMD-D", "MMD-D-witness", "MMD-O, Gaussian", "MMD-O, of features"}
    assert not any("epochs" in name for name in lines[False])
    deep = {line.name: repr(line.test) for line in e.lines if line.name.startswith("MMD-")}
    assert all(("epochs=100," in test) == ("epochs" in name) for name, test in deep.items())


def test_kinds_of_lines_have_panels_of_their_own(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "draw_panel", lambda axes, summary, xs: drawn.append(summary))
    points = [{"x": 1.0, "trials": 10}]
    names = {"kfda-witness": "", "MMD-D": "deep", "tell_apart": ""}
    lines = [{"line": name, "panel": panel, "points": points} for name, panel in names.items()]
    figures.draw_experiment({"title": "T", "lines": lines}, tmp_path / "figure")
    assert [[line["line"] for line in panel["lines"]] for panel in drawn] == [
        ["kfda-witness", "tell_apart"],
        ["MMD-D", "tell_apart"],
    ]
    assert [panel["title"] for panel in drawn] == ["T", "T: deep"]
    assert (tmp_path / "figure.png").exists()


def test_a_line_that_is_trained_for_long_gets_the_test_sets_of_its_experiment():
    """One declaration, in every figure that knows where its test sets come from."""
    line = Line("trained", partial(witness_on_fresh_draws, Fisher(Gaussian(0.3), 1e-2), Permutation(19), 4), fresh=True)
    for e in declared.BENCHMARKS[:2]:
        assert len(trials.said(e, line, 10, 0)) == 4
    assert all(e.fresh for e in declared.BENCHMARKS)


def test_rows_that_learned_do_not_judge():
    rows = np.random.default_rng(0).normal(size=(50, 4))
    left = without(rows, rows[10:30])
    np.testing.assert_array_equal(left, np.concatenate([rows[:10], rows[30:]]))


@pytest.mark.parametrize("null", [False, True])
def test_no_row_of_higgs_learns_and_judges(null, monkeypatch):
    background, signal = (np.arange(4.0 * 60).reshape(60, 4) + start for start in (0, 1000))
    monkeypatch.setattr(problems, "jet_phis", lambda: (background, signal))
    rng = np.random.default_rng(0)
    x, y = problems.higgs_at(null, 14, rng)
    assert len(x) == len(y) == 28
    train = np.concatenate([x[:14], y[:14]])
    fresh_x, fresh_y = problems.higgs_fresh(null, 14, train, rng)
    assert len(fresh_x) == len(fresh_y) == 14
    for rows in (np.concatenate([x, y]), np.concatenate([train, fresh_x, fresh_y])):
        assert len(np.unique(rows, axis=0)) == len(rows)
    assert (np.concatenate([x, fresh_x]) < 1000).all()
    assert all(((rows < 1000) == null).all() for rows in (y, fresh_y))


def test_trials_and_lines():
    assert (CHEAP.of(True), DEAR.of(False)) == (100, 400)
    e = replace(declared.EXPERIMENTS[0], most=Trials(50, 20))
    assert e.trials(Line("a", lambda *a: 0.0), quick=False) == 50
    assert e.trials(Line("a", lambda *a: 0.0, trials=Trials(10, 10)), quick=True) == 10

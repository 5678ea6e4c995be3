"""The arrow is a test: modules import only what stands left of them, and importing tellapart stays light."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tellapart

SOURCE = Path(tellapart.__file__).parent

# Left to right. A package's modules are ordered among themselves where they depend on each other. `report` turns dicts
# into text and knows nothing of results; it stands left of `result` so that a result can print itself.
ARROW = [
    "_version",
    "_checks",
    "_writing",
    "_progress",
    "_threads",
    "_randomness",
    "_arrays",
    "_arrow",
    "storage",
    "samples",
    "tables.reading",
    "tables.schema",
    "tables.runs",
    "tables.encoders",
    "tables.choice",
    "tables.coarse",
    "tables",
    "tables.stored",
    "tables.originals",
    "portraits",
    "split",
    "moments",
    "pairs",
    "kernels.base",
    "kernels.radial",
    "kernels.algebraic",
    "kernels",
    "landmarks",
    "witness.base",
    "witness.shifted",
    "witness.fisher",
    "witness.estimator",
    "witness.select",
    "witness.nystrom",
    "witness.optimised",
    "witness.locations",
    "witness.training",
    "witness.criterion",
    "witness.modules",
    "witness.kernel_training",
    "witness.deep_kernel",
    "witness.network_training",
    "witness.network",
    "witness",
    "inference.pvalue",
    "inference.enumeration",
    "inference.saddlepoint",
    "inference.relabel",
    "inference.null",
    "inference.planning",
    "inference.confidence",
    "inference.exchange",
    "inference.bundles",
    "inference.classical_statistics",
    "inference.among_relabellings",
    "inference.hotelling",
    "inference.stage_one",
    "inference.refit",
    "inference.prequential",
    "inference.certificate",
    "inference.leave_one_out",
    "inference.combination",
    "inference.columns",
    "inference.voices",
    "inference.whole_sample",
    "inference.in_memory",
    "inference.sums",
    "inference.folds",
    "inference.ensemble",
    "inference.large_certificate",
    "inference.several",
    "inference.where",
    "inference.dependence",
    "inference.regions",
    "inference",
    "rules",
    "_spec",
    "report.text",
    "report.where",
    "report.comparison",
    "report.markup",
    "report.fragment",
    "report.style",
    "report.drawing",
    "report.repeating",
    "report.findings",
    "report.html",
    "report.plots",
    "report",
    "explanation",
    "result",
    "joint_result",
    "classical_result",
    "classical",
    "locations",
    "several_result",
    "procedure",
    "joint",
    "reference",
    "saved_witness",
    "experimental",
    "datasets.modes",
    "datasets.clusters",
    "datasets.waves",
    "datasets.readings",
    "datasets.pickled",
    "datasets.labelled",
    "datasets.physics",
    "datasets",
    "deep",
    "",
    "compat.alibi_detect",
    "compat.evidently",
    "compat",
    "testing",
    "delimited",
    "files",
    "arguments",
    "references",
    "completion",
    "cli",
    "__main__",
]
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = ("torch", "dask", "pandas", "matplotlib", "polars", "pyarrow", "sklearn")


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(p for p in parts if p != "__init__")


def imported(path: Path) -> set[str]:
    """Modules of ours that a file imports anywhere, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the arrow"
            names = {f"{node.module}.{a.name}" for a in node.names}
            found |= {n if n.removeprefix("tellapart.") in ARROW else node.module for n in names}
    return {m.removeprefix("tellapart").removeprefix(".") for m in found if m.split(".")[0] == "tellapart"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_left(path):
    here = ARROW.index(name_of(path))
    to_the_right = {m for m in imported(path) if ARROW.index(m) >= here}
    assert not to_the_right, f"{name_of(path)} imports {to_the_right}, which stands right of it"


def test_the_two_axes_do_not_know_each_other():
    for path in (SOURCE / "inference").glob("*.py"):
        assert not any(m.startswith("witness") for m in imported(path)), path
    for path in (SOURCE / "witness").glob("*.py"):
        assert not any(m.startswith("inference") for m in imported(path)), path


def test_every_module_stands_on_the_arrow():
    assert {name_of(p) for p in MODULES} == set(ARROW)


def in_a_fresh_interpreter(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_loads_nothing_heavy():
    code = f"import sys, tellapart; print([m for m in {HEAVY} if m in sys.modules])"
    assert in_a_fresh_interpreter(code) == "[]"


def test_the_command_waits_for_nothing_to_print_its_help():
    heavy = (*HEAVY, "numpy", "scipy", "narwhals")
    code = (
        "import sys; from tellapart.cli import main\ntry: main(['--help'])\n"
        f"except SystemExit: print([m for m in {heavy} if m in sys.modules])"
    )
    assert in_a_fresh_interpreter(code).endswith("[]")


def test_public_names_come_from_where_they_are_said_to_live():
    for name, home in tellapart._HOME_OF.items():
        assert getattr(tellapart, name) is getattr(import_module(home), name)
    assert {*tellapart._HOME_OF, "datasets", "kernels", "__version__"} == set(tellapart.__all__) <= set(dir(tellapart))
    with pytest.raises(AttributeError, match="no attribute 'tell_appart'"):
        getattr(tellapart, "tell_" + "appart")


def test_a_whole_test_on_arrays_loads_nothing_heavy():
    code = (
        "import sys, tellapart; x, y = tellapart.datasets.blobs(20, rng=0); print(tellapart.witness_test(x, y, rng=0));"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    assert in_a_fresh_interpreter(code).endswith("[]")


def test_public_names_are_few_and_exist():
    public = [n for n in tellapart.__all__ if n != "__version__"]
    assert public == sorted(public)
    assert all(hasattr(tellapart, n) for n in public)
    assert len(public) <= 27


def test_no_function_has_the_name_of_its_module():
    for path in MODULES:
        functions = {n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)}
        assert path.stem not in functions, path


def test_nothing_of_this_machine_is_in_the_source():
    for path in MODULES:
        assert "/work/" not in path.read_text(), path

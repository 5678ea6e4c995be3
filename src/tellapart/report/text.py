"""The dict of a result -> text for a person."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from scipy.special import ndtri

USUAL_LEVEL = 0.05  # where nobody is asked for one
_WIDTH = 100
_LEARNED = {"mean_embedding_test": "locations", "smooth_cf_test": "frequencies"}
_SMALLEST_SHOWN = 1e-307  # below, a double cannot tell


def verdict_sentence(pvalue: float, level: float) -> str:
    """The verdict with the level that made it.

    >>> verdict_sentence(0.002, 0.05)
    'The samples differ: p = 0.002, below the level 0.05.'
    >>> verdict_sentence(0.4, 0.05)
    'No difference found: p = 0.4, above the level 0.05.'
    >>> verdict_sentence(2.3e-308, 0.05)
    'The samples differ: p < 1e-307, below the level 0.05.'
    """
    p = f"p = {pvalue:.3g}" if pvalue > _SMALLEST_SHOWN or pvalue == 0 else f"p < {_SMALLEST_SHOWN:.0e}"
    if pvalue <= level:
        return f"The samples differ: {p}, {'at' if pvalue == level else 'below'} the level {level:g}."
    return f"No difference found: {p}, above the level {level:g}."


def to_text(result: dict[str, Any], level: float = 0.05) -> str:
    """A verdict in a sentence, then how it came about."""
    return laid_out(verdict_sentence(result["pvalue"], level), witness_rows(result, level))


def to_joint_text(result: dict[str, Any], level: float = 0.05) -> str:
    """The same for the test without a split."""
    return laid_out(verdict_sentence(result["pvalue"], level), joint_rows(result))


def joint_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Labels and words of the test without a split."""
    sizes, draws = result["sizes"], result["draws"]
    tried = f", from {draws} relabellings of {result['exchanged']}" if draws else ""
    rows = [
        ("p-value", f"{result['pvalue']:.4g}, exact{tried}"),
        ("rows", f"{sizes['n']} + {sizes['m']} of {_columns(sizes['columns'])}, each learned and judged"),
        ("effect", _effect_words(result)),
    ]
    heard = sorted(result["families"].items(), key=lambda item: item[1]["pvalue"])
    rows += [(name, f"p = {loudest['pvalue']:.3g} by itself: {_loudest_words(loudest)}") for name, loudest in heard]
    rows.append(("computed", f"from {result['computed']}"))
    rows.append(("repeat", f"{_rng_words(result['rng'])}, tellapart {result['version']}"))
    return _between_schema_and_notes(result, rows)


def _effect_words(result: dict[str, Any]) -> str:
    """How large the difference is: the order of pairs, and what is certain of the distributions."""
    words = f"{result['auc']:.0%} of pairs are put in the right order by a witness that saw neither (50% is chance)"
    if result["certified"]:
        words += f"; at least {result['certified']:.1%} of the probability lies elsewhere, with confidence 95%"
    return words


def to_several_text(result: dict[str, Any], level: float = 0.05) -> str:
    """A verdict on several samples, and a line for each pair."""
    return laid_out(verdict_sentence(result["pvalue"], level), several_rows(result, level))


def several_rows(result: dict[str, Any], level: float) -> list[tuple[str, str]]:
    """Labels and words of the test of several samples."""
    rows = [
        ("p-value", f"{result['pvalue']:.4g} that all are alike, exact, from {result['draws']} relabellings"),
        ("rows", f"{' + '.join(map(str, result['sizes']))} of {_columns(result['columns'])}"),
    ]
    for pair in result["pairs"]:
        i, j = pair["between"]
        told = "differ" if pair["pvalue"] <= level else "no difference found"
        loudest = f", loudest: {pair['family']}" if pair["family"] and pair["pvalue"] <= level else ""
        rows.append((f"{i} and {j}", f"{told}: p = {pair['pvalue']:.3g} allowing for all pairs{loudest}"))
    rows.append(("computed", f"from {result['computed']}"))
    rows.append(("repeat", f"{_rng_words(result['rng'])}, tellapart {result['version']}"))
    return _between_schema_and_notes(result, rows)


def to_classical_text(result: dict[str, Any], level: float = 0.05) -> str:
    """The same for the classical tests."""
    return laid_out(verdict_sentence(result["pvalue"], level), classical_rows(result))


def classical_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Labels and words of a classical test."""
    rows = [
        ("p-value", f"{result['pvalue']:.4g} from {result['how']}"),
        ("statistic", f"{_number(result['statistic']):.4g}, {result['statistic_name']}"),
        ("rows", _classical_rows(result)),
        *_learned_rows(result),
    ]
    if "ridge" in result["choices"]:
        rows.append(("ridge", f"{_number(result['choices']['ridge']):.3g}"))
    rows.append(("repeat", f"{_rng_words(result['rng'])}, tellapart {result['version']}"))
    return _between_schema_and_notes(result, rows)


def _classical_rows(result: dict[str, Any]) -> str:
    judged = f"{result['n']} + {result['m']} of {_columns(result['columns'])}"
    if not result["n_train"]:
        return f"{judged}, none spent on learning"
    learned = "kernel" if "kernel" in result else _LEARNED[result["test"]]
    them = "it" if learned == "kernel" else "them"
    return f"{result['n_train']} + {result['m_train']} rows learned the {learned}, {judged} judged {them}"


def _learned_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The kernel, or the locations or frequencies, in the units of the columns."""
    if "kernel" in result:
        return [("kernel", spec_words(result["kernel"]))]
    learned = _LEARNED[result["test"]]
    points = "; ".join(spec_words(point) for point in result["features"][learned])
    return [(learned, points), ("width", spec_words(result["features"]["width"]))]


def _loudest_words(loudest: dict[str, Any]) -> str:
    """What the loudest statistic of a family is made of."""
    parts = [loudest["detail"]] if loudest["detail"] else []
    if loudest["column"] is not None:
        parts.append(f"column {loudest['column']}")
    if loudest["kernel"] is not None and loudest["kernel"].get("class") != "Energy":
        parts.append(spec_words(loudest["kernel"]))
    if loudest["freedom"] is not None:
        parts.append(f"{_number(loudest['freedom']):.3g} degrees of freedom")
    return ", ".join(parts)


def _between_schema_and_notes(result: dict[str, Any], rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """What differs between the tables themselves comes first, remarks come last."""
    schema = [("schema", difference) for difference in result.get("schema_differences", ())]
    return schema + rows + [("note", note) for note in result.get("notes", ())]


def laid_out(sentence: str, rows: list[tuple[str, str]]) -> str:
    """A sentence, and below it labels beside their words, wrapped."""
    lines = [sentence, ""]
    wide = max(11, *(len(label) for label, _ in rows))
    for label, words in rows:
        filled = textwrap.wrap(words, _WIDTH - wide - 4, break_on_hyphens=False, break_long_words=False) or [""]
        lines += [f"  {label:<{wide}}  {filled[0]}"] + [" " * (wide + 4) + more for more in filled[1:]]
    return "\n".join(lines)


def witness_rows(result: dict[str, Any], level: float) -> list[tuple[str, str]]:
    """Labels and words of the test that learns on one part and judges on the other."""
    w, rows = result["moments"], result["rows"]
    learned = f"{rows['n_train']} + {rows['m_train']} rows learned the witness, " if rows["n_train"] else ""
    lines = [
        ("p-value", f"{result['pvalue']:.4g} from {result['how']}"),
        ("statistic", f"{_number(result['statistic']):.4g}, {result['statistic_name']}"),
        ("effect", f"signal-to-noise ratio {_number(result['snr']):.3g} on fresh rows"),
        ("rows", f"{learned}{w['n']} + {w['m']} of {_columns(rows['columns'])} judged it"),
        ("witness", _witness_words(result)),
    ]
    least = (ndtri(1 - level) + ndtri(0.8)) / math.sqrt(w["n"] + w["m"])
    if least > 0:
        found = f"a witness with signal-to-noise ratio {least:.2g} is found 8 times in 10 with these rows"
        lines.append(("sensitivity", found))
    lines.append(("repeat", f"{_rng_words(result['rng'])}, tellapart {result['version']}"))
    return _between_schema_and_notes(result, lines)


def _columns(number: int) -> str:
    return f"{number} column{'s' * (number != 1)}"


def _witness_words(result: dict[str, Any]) -> str:
    selection = result["selection"]
    if not selection:
        return spec_words(result["learner"])
    kernel, ridge = selection["kernels"][selection["chosen"][0]], _number(selection["ridges"][selection["chosen"][1]])
    kernels, ridges = len(selection["kernels"]), len(selection["ridges"])
    tried = f"{kernels} kernels x {ridges} ridges" if kernels > 1 else f"{ridges} ridges"
    return f"Fisher witness of {spec_words(kernel)} with ridge {ridge:.3g}, the best of {tried} on the training rows"


def _rng_words(rng: dict[str, Any]) -> str:
    return f"rng={rng['seed']}" if "seed" in rng else "rng in the recorded state"


def spec_words(spec: Any) -> str:
    """A choice as the code that makes it, with numbers shortened.

    >>> spec_words({"class": "Gaussian", "bandwidth": [0.123456, 2.0]})
    'Gaussian(bandwidth=(0.123, 2))'
    """
    if isinstance(spec, dict) and "class" in spec:
        inside = ", ".join(f"{k}={spec_words(v)}" for k, v in spec.items() if k != "class" and v is not None)
        return f"{spec['class']}({inside})"
    if isinstance(spec, dict):
        return str(spec.get("repr", spec.get("float", spec)))
    if isinstance(spec, list):
        shown = ", ".join(spec_words(v) for v in spec[:4])
        return f"({shown}, ... {len(spec)} in all)" if len(spec) > 4 else f"({shown})"
    return f"{spec:.3g}" if isinstance(spec, float) else repr(spec)


def _number(value: Any) -> float:
    return float(value["float"]) if isinstance(value, dict) else float(value)

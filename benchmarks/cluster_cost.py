"""What parsing and training 10^8 sentences would take on 100 machines, in hours and money, worked
out from figures that were measured on one machine and from assumptions about the cluster.

docs/cluster.json has both. ``assumed`` are the cluster and the corpus; ``training`` are figures of
the distributed dual scheme (docs/decisions/training-jobs.md), null until they are measured:

- ``rounds``: rounds to the gap, by the number of shards;
- ``visits_per_round``: how often a round visits each sentence of a shard, 1 being a whole pass;
- ``cpu_seconds_per_visit``: of one sentence, inference and step;
- ``bytes_per_round``: what one shard sends in a round, changes of touched weights only;
- ``sentences_of_a_shard``, ``weights``: of the measured run, and the width of the model.

The model of time. Parsing needs no communication but reads and writes the corpus. A round of
training takes the compute of a shard, then each shard sends its change to the driver and receives
the sum: twice the bytes through the driver's link, one shard after the other, and two latencies.
Bytes of a shard grow with its sentences as the vocabulary does, by Heaps' exponent, and end at the
width of the model (4 bytes a weight); an all-reduce in rings would send 2 (K - 1) / K times the
width over every link instead, and both are given. Rounds for more shards than were measured follow
the power law through those that were.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

DOCS = Path(__file__).resolve().parents[1] / "docs"
HOUR = 3600.0


class Figures(NamedTuple):
    """Parsing, and training where it has been measured: a name, a value and its unit a row."""

    assumed: Mapping[str, float]
    parsing: list[tuple[str, float, str]]
    training: list[tuple[str, float, str]]


def figures(given: Mapping[str, Any], measured: Mapping[str, Any]) -> Figures:
    """Work the rows out; ``measured`` is docs/scale.json."""
    assumed = given["assumed"]
    points = measured["curves"]["parsing"]
    parsing = []
    if points.get("sentences"):
        start = next(iter(points["start"].values()))
        largest = max(points["sentences"].values(), key=lambda point: float(point["sentences"]))
        seconds = (largest["seconds"] - start["seconds"]) / largest["sentences"]
        assumed = {**assumed, "words_per_sentence": largest["words"] / largest["sentences"]}
        parsing = _parsing(assumed, seconds)
    training = given["training"]
    missing = any(value is None for value in training.values())
    return Figures(assumed, parsing, [] if missing else _training(assumed, training))


def _parsing(assumed: Mapping[str, float], seconds: float) -> list[tuple[str, float, str]]:
    cores = assumed["machines"] * assumed["cores"]
    core_hours = assumed["sentences"] * seconds / HOUR / assumed["share_of_a_core"]
    size = assumed["sentences"] * assumed["words_per_sentence"] * assumed["bytes_per_word"]
    return [
        ("CPU time of a sentence", seconds * 1e3, "ms"),
        ("core hours", core_hours, ""),
        ("time of computing", core_hours / cores, "h"),
        (
            "time of reading and writing",
            2 * size / _rate(assumed) / assumed["machines"] / HOUR,
            "h",
        ),
        ("cost", core_hours * assumed["price_of_a_core_hour"], "USD"),
    ]


def _training(
    assumed: Mapping[str, float], training: Mapping[str, Any]
) -> list[tuple[str, float, str]]:
    shards = assumed["machines"] * assumed["cores"]
    known = sorted((float(k), float(rounds)) for k, rounds in training["rounds"].items())
    log_shards, log_rounds = np.log(np.array([pair for pair in known if pair[0] > 1])).T
    power, offset = np.polyfit(log_shards, log_rounds, 1)
    rounds = float(np.exp(offset) * shards**power)
    of_shard = assumed["sentences"] / shards
    compute = of_shard * training["visits_per_round"] * training["cpu_seconds_per_visit"]
    compute /= assumed["share_of_a_core"]
    width = 4.0 * training["weights"]
    growth = (of_shard / training["sentences_of_a_shard"]) ** assumed["heaps_exponent"]
    sent = min(training["bytes_per_round"] * growth, width)
    latency = 2 * assumed["latency_seconds"]
    through_driver = 2 * shards * sent / _rate(assumed) + latency
    in_rings = 2 * width / _rate(assumed) * assumed["cores"] + shards * assumed["latency_seconds"]
    rows = [
        ("shards, one a core", shards, ""),
        ("rounds, by the power law", rounds, ""),
        ("exponent of rounds in shards", float(power), ""),
        ("computing in a round", compute, "s"),
        ("sent by a shard in a round", sent / 1e6, "MB"),
    ]
    for name, transfer in (("through the driver", through_driver), ("in rings", in_rings)):
        hours = rounds * (compute + transfer) / HOUR
        cost = hours * shards * assumed["price_of_a_core_hour"]
        rows += [
            (f"transfer in a round, {name}", transfer, "s"),
            (f"time, {name}", hours, "h"),
            (f"cost, {name}", cost, "USD"),
        ]
    return rows


def _rate(assumed: Mapping[str, float]) -> float:
    """Bytes a second of the link of one machine."""
    return assumed["gigabits_per_second"] * 1e9 / 8


def lines(found: Figures) -> list[str]:
    """The assumptions and both tables in Markdown."""
    a = found.assumed
    made = [
        f"Assumed: {a['sentences']:,.0f} sentences of {a['words_per_sentence']:.1f} words, "
        f"{a['bytes_per_word']:.0f} bytes a word in CoNLL-U; {a['machines']:.0f} machines of",
        f"{a['cores']:.0f} cores, each of which does {a['share_of_a_core']:.0%} of what the "
        f"measured one does alone; links of {a['gigabits_per_second']:g} Gbit/s",
        f"with a latency of {a['latency_seconds'] * 1e3:g} ms; "
        f"{a['price_of_a_core_hour']:g} USD a core hour; the model fits each machine.",
    ]
    for title, rows in (("parsing", found.parsing), ("training", found.training)):
        if rows:
            made += ["", f"| {title} | |", "|---|---:|"]
            made += [f"| {name} | {_number(value)} {unit} |" for name, value, unit in rows]
        else:
            made += ["", f"Figures for {title} are not measured yet."]
    return made


def _number(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--given", type=Path, default=DOCS / "cluster.json")
    parser.add_argument("--measured", type=Path, default=DOCS / "scale.json")
    options = parser.parse_args()
    read = [json.loads(path.read_text("utf-8")) for path in (options.given, options.measured)]
    print("\n".join(lines(figures(*read))))


if __name__ == "__main__":
    main()

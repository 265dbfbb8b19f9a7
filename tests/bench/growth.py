"""How processor time grows when one thing doubles, and then doubles again: at most twice what depends on it.

    python tests/bench/growth.py [changed|base|definitions|patterns|untracked|commits]... [--rounds 5]

For each: milliseconds of processor time of all processes, at once, twice and four times as much, the least of the rounds; and the
second step over the first. What is linear takes steps of 1 and of 2 sizes: their ratio is 2. Where it is quadratic it would be 4.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from making import Size, build, evaluate, paired, room, sized

START = Size(changed=2_000, base=20_000, untracked=1_000, definitions=50, patterns=4, commits=50)
# How much there is to begin with of what doubles: enough to be seen beside all the rest.
DOUBLED = {"changed": 4_000, "base": 40_000, "definitions": 400, "patterns": 1_000, "untracked": 5_000, "commits": 2_000}


def steps(name: str, rounds: int) -> list[float]:
    """Milliseconds at one, two and four times as much."""
    with room() as folder:
        places: list[Path] = []
        for times in (1, 2, 4):
            places.append(folder / str(times))
            build(places[-1], partial(sized, START._replace(**{name: DOUBLED[name] * times})))
        found = paired([lambda place=place: evaluate(place) for place in places], rounds)  # type: ignore[misc]
    return [min(runs[n].cpu for runs in found) * 1000 for n in range(len(places))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=list(DOUBLED), choices=[*DOUBLED, []])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{'':12} {'from':>7} {'n':>8} {'2n':>8} {'4n':>8} ms   second step / first")
    for name in options.what:
        once, twice, four = steps(name, options.rounds)
        ratio = (four - twice) / (twice - once)
        print(f"{name:12} {DOUBLED[name]:7} {once:8.0f} {twice:8.0f} {four:8.0f}      {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()

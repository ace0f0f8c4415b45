"""The order of a plan's runs: the guide's between pairs, drawn inside them, always the same."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from core.domain.bench.plan import Pair, Run, Target
from core.domain.bench.runs import runs_of
from tests.domain.bench.plans import GUIDE, SMALL

OWN = Pair("mine_off", "mine_on", GUIDE.pairs[1].workload)


def two_by_two(runs: tuple[Run, ...]) -> list[tuple[Run, Run]]:
    return list(zip(runs[::2], runs[1::2], strict=True))


def test_every_run_is_there_once() -> None:
    """Six cases at each concurrency, repeat and hash algorithm, with ids that differ."""
    plan = replace(GUIDE, repeats=3, hash_algorithms=("sha256", "xxhash"))
    runs = runs_of(plan)
    assert len(runs) == 6 * 4 * 3 * 2
    assert len({run.run_id for run in runs}) == len(runs)
    assert runs_of(plan) == runs


def test_pairs_go_in_the_guides_order() -> None:
    """However the plan lists them, A/B is before C/D before E/F, and one's own come last."""
    plan = replace(GUIDE, pairs=(OWN, *reversed(GUIDE.pairs)))
    assert list(dict.fromkeys(run.pair.name for run in runs_of(plan))) == [
        "A/B",
        "C/D",
        "E/F",
        OWN.name,
    ]


@given(st.integers(0, 2**40))
def test_the_two_runs_of_a_pair_differ_in_caching_alone(seed: int) -> None:
    """Side by side, with the same seed, one OFF and one ON."""
    for first, second in two_by_two(runs_of(replace(GUIDE, seed=seed, repeats=2))):
        assert {first.caching, second.caching} == {True, False}
        assert replace(first, caching=second.caching, run_id=second.run_id) == second


def test_which_comes_first_is_drawn() -> None:
    """Over many pairs each order comes about half the time; another seed draws another order."""
    runs = runs_of(replace(GUIDE, repeats=50))
    first = [run.caching for run, _ in two_by_two(runs)]
    assert 240 < sum(first) < 360
    other = [run.caching for run, _ in two_by_two(runs_of(replace(GUIDE, repeats=50, seed=1)))]
    assert first != other


def test_what_is_left_out_moves_no_other_draw() -> None:
    """A plan of fewer pairs keeps the order inside those that remain."""
    whole = {run.run_id[4:]: n % 2 for n, run in enumerate(runs_of(SMALL))}
    part = runs_of(replace(SMALL, pairs=SMALL.pairs[1:]))
    assert {run.run_id[4:]: n % 2 for n, run in enumerate(part)}.items() <= whole.items()


def test_given_servers_get_a_seed_for_each_two_runs() -> None:
    """On servers that go on running, prompts differ from pair to pair and never inside one."""
    seeds = [a.seed for a, _ in two_by_two(runs_of(replace(GUIDE, target=Target.GIVEN, seed=7)))]
    assert seeds == list(range(7, 7 + len(seeds)))
    assert {run.seed for run in runs_of(replace(GUIDE, seed=7))} == {7}

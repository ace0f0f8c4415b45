"""Follow-up turns: what a history could offer, and shares of sums with their reasons."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.affinity import (
    FollowUps,
    Place,
    cached_share,
    delivered_share,
    offered_tokens,
    same_engine_share,
)
from core.domain.reading import Reason, Reported

SOME = FollowUps(
    place=Place.SAME,
    turns=4,
    measured=3,
    input_tokens=3000,
    cached_tokens=2400,
    gaps=2,
    gap_median_s=30.0,
    offers=2,
    offered_tokens=1600,
    delivered_tokens=1700,
    above=1,
    above_tokens=300,
    assumed_blocks=0,
    overlapping=1,
    other_model=0,
    pod_level=0,
    pool_level=0,
    no_request=0,
    long_ago=0,
)
NONE = replace(
    SOME,
    turns=0,
    measured=0,
    input_tokens=None,
    cached_tokens=None,
    offers=0,
    offered_tokens=None,
    delivered_tokens=None,
)
TOKENS = st.integers(1, 10**6)


@pytest.mark.parametrize(
    ("history", "asked", "block", "offered"),
    [
        (1000, 5000, 16, 992),  # 62 whole blocks of the history
        (1000, 5000, 32, 992),  # 31 of them
        (1000, 5000, 128, 896),
        (5000, 640, 32, 608),  # the last block is computed again, as vLLM does
        (5000, 641, 32, 640),
        (15, 5000, 16, 0),
        (0, 5000, 16, 0),
        (5000, 1, 16, 0),
        (None, 640, 16, None),
        (640, None, 16, None),
    ],
)
def test_offered_tokens_by_hand(
    history: int | None, asked: int | None, block: int, offered: int | None
) -> None:
    """Whole blocks of the history, and never all of the prompt; unknown stays unknown."""
    assert offered_tokens(history, asked, block_tokens=block) == offered


@given(TOKENS, TOKENS, st.sampled_from([1, 16, 32, 128]))
def test_an_offer_keeps_its_bounds(history: int, asked: int, block: int) -> None:
    """An offer is a multiple of the block, below the prompt, and within the history."""
    offered = offered_tokens(history, asked, block_tokens=block)
    assert offered is not None
    assert offered % block == 0
    assert 0 <= offered < asked
    assert offered <= history
    assert min(history, asked - 1) - offered < block


def test_the_share_is_of_turns_with_both_engines_known() -> None:
    """Unknown places are in the coverage and in no ratio."""
    share = same_engine_share(3, 1, 6)
    assert (share.value, share.numerator, share.denominator) == (0.75, 3, 4)
    assert share.coverage == Reported(4, 10)


@pytest.mark.parametrize(
    ("unknown", "reason"), [(0, Reason.NO_TRAFFIC), (5, Reason.NOT_ATTRIBUTED)]
)
def test_no_known_engine_is_no_share(unknown: int, reason: Reason) -> None:
    """Nobody followed up, and nobody named an engine, are two different words and no 0 %."""
    share = same_engine_share(0, 0, unknown)
    assert (share.value, share.reason) == (None, reason)


def test_sums_are_divided_last() -> None:
    """Both shares are of sums, with the turns they are of as their coverage."""
    assert cached_share(SOME).value == 0.8
    assert cached_share(SOME).coverage == Reported(3, 4)
    assert delivered_share(SOME).coverage == Reported(2, 4)


def test_more_than_was_offered_is_not_cut_off() -> None:
    """Other prefixes give too: a share above 100 % is shown as it is."""
    assert delivered_share(SOME).value == pytest.approx(1.0625)


@pytest.mark.parametrize(
    ("sums", "reason"),
    [
        (NONE, Reason.NO_TRAFFIC),
        (replace(NONE, turns=2), Reason.NOT_MEASURED),
        (replace(SOME, offered_tokens=0, delivered_tokens=0), Reason.NO_TRAFFIC),
    ],
)
def test_why_nothing_was_delivered(sums: FollowUps, reason: Reason) -> None:
    """No turn, no measured turn and no whole block are told apart from a delivery of 0."""
    assert (delivered_share(sums).value, delivered_share(sums).reason) == (None, reason)
    assert delivered_share(replace(SOME, delivered_tokens=0)).value == 0

"""Possible hit tokens: whole blocks, and never the last token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.match_unit import possible_hit_tokens


@pytest.mark.parametrize(
    ("tokens", "possible"), [(1, 0), (1024, 0), (1025, 1024), (2047, 1024), (4096, 3072)]
)
def test_a_block_of_1024(tokens: int, possible: int) -> None:
    """A whole block needs one token more than it holds."""
    assert possible_hit_tokens(tokens, 1024) == possible


@given(st.integers(1, 100_000), st.integers(1, 4096))
def test_possible_hits_are_whole_blocks_below_the_prompt(tokens: int, block: int) -> None:
    """They are blocks, fewer than the prompt, and no further block would be."""
    possible = possible_hit_tokens(tokens, block)
    assert possible % block == 0
    assert 0 <= possible < tokens <= possible + block


@pytest.mark.parametrize(("tokens", "block"), [(0, 16), (10, 0), (-1, 16)])
def test_nothing_has_no_length(tokens: int, block: int) -> None:
    """A prompt or block without tokens is an error, not 0."""
    with pytest.raises(ValueError, match="a prompt and a block"):
        possible_hit_tokens(tokens, block)

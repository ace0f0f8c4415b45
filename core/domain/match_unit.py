"""How many tokens of a prompt a prefix cache can give back at most."""


def possible_hit_tokens(tokens: int, block: int) -> int:
    """Most hit tokens of a prompt of so many tokens: whole blocks, without the last token.

    At least one token of every prompt is computed, so a prompt of exactly some blocks
    can be given back one block less.

    Parameters
    ----------
    tokens : int
        Length of the prompt.
    block : int
        Tokens in a block, or in the unit that is matched.

    Raises
    ------
    ValueError
        No prompt or no block has a length below 1.

    >>> [possible_hit_tokens(n, 1024) for n in (1, 1024, 1025, 2047, 4096)]
    [0, 0, 1024, 1024, 3072]
    """
    if tokens < 1 or block < 1:
        raise ValueError(f"a prompt and a block hold a token at least, got {tokens} and {block}")
    return (tokens - 1) // block * block

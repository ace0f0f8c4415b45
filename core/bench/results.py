"""The result file of a run: kept without the texts that the model wrote."""

from pathlib import Path

from core.errors import BenchResultError
from core.sources.vllm_bench import read_result, strip_texts

WRITTEN, KEPT = "result.part.json", "result.json"


def keep_result(folder: Path) -> None:
    """Move what the benchmark wrote to where it stays, without texts.

    One that cannot be read stays as an empty file: nobody can tell texts from figures in it.

    Raises
    ------
    BenchResultError
        Nothing was written, or it is not one whole result.
    """
    written, kept = folder / WRITTEN, folder / KEPT
    if not written.exists():
        raise BenchResultError("no result file was written")
    try:
        read_result(written)
    finally:
        strip_texts(written)
        written.replace(kept)

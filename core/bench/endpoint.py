"""A vLLM server as the launcher sees it over HTTP: health, version, configuration, counters."""

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import httpx

from core.config import Settings
from core.errors import BenchServerError, SourceContract
from core.sources.vllm_bench import read_metrics

TIMEOUT_S = 10.0
CACHING = "enable_prefix_caching"
BOOLEANS = {"True": True, "False": False}


@dataclass(frozen=True)
class Served:
    """What a server says it is; `configurations` are its engines' labels of cache_config_info."""

    url: str
    version: str | None
    caching: bool
    configurations: dict[str, dict[str, str]]

    def said(self, label: str) -> set[str | None]:
        """What its engines say under one label."""
        return {labels.get(label) for labels in self.configurations.values()}


@dataclass(frozen=True)
class Reset:
    """The answer to a wish to empty the prefix cache.

    `said` is its success:true or success:false; None: the server takes no such wish.
    """

    status: int | None
    said: bool | None


class Endpoint:
    """One server. Answers only; whether they are right is decided elsewhere."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.url = url.rstrip("/")
        key = settings.bench_api_key
        headers = {} if key is None else {"Authorization": f"Bearer {key.get_secret_value()}"}
        self._client = httpx.Client(headers=headers, timeout=TIMEOUT_S, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def healthy(self) -> bool:
        """Whether the engine, not only its HTTP part, says it works."""
        try:
            return self._client.get(f"{self.url}/health").status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def metrics(self) -> str:
        """All metrics as text.

        Raises
        ------
        BenchServerError
            They cannot be had.
        """
        try:
            answer = self._client.get(f"{self.url}/metrics")
        except httpx.HTTPError as error:
            raise BenchServerError(
                f"no metrics from {self.url}: {type(error).__name__}: {error}"
            ) from error
        if answer.status_code != httpx.codes.OK:
            raise BenchServerError(f"no metrics from {self.url}: HTTP {answer.status_code}")
        return answer.text

    def settled_metrics(self, *, pause_s: float, most_s: float) -> str:
        """All metrics, once two readings of the engine's agree; the last one if they never do."""
        end = time.monotonic() + most_s
        text = self.metrics()
        while time.monotonic() < end:
            time.sleep(pause_s)
            before, text = text, self.metrics()
            if _of_engine(before) == _of_engine(text):
                break
        return text

    def served(self) -> Served:
        """What it is, by its own /version and cache_config_info.

        Raises
        ------
        BenchServerError
            It cannot be told whether it caches prefixes.
        """
        try:
            found = read_metrics(self.metrics()).configs
        except SourceContract as error:
            raise BenchServerError(f"{self.url}: {error.detail}") from error
        configurations = {engine: dict(labels) for engine, labels in found.items()}
        said = {labels.get(CACHING) for labels in configurations.values()}
        caching = BOOLEANS.get(str(said.pop())) if len(said) == 1 else None
        if caching is None:
            raise BenchServerError(f"{self.url} does not say one {CACHING} in cache_config_info")
        return Served(self.url, self._version(), caching, configurations)

    def reset(self) -> Reset:
        """Ask for an empty prefix cache; an answer of success:false left it as it was."""
        try:
            answer = self._client.post(f"{self.url}/reset_prefix_cache")
        except httpx.HTTPError:
            return Reset(None, None)
        try:
            body = answer.json() if answer.status_code == httpx.codes.OK else None
        except ValueError:
            body = None
        said = body.get("success") is True if isinstance(body, dict) else None
        return Reset(answer.status_code, said)

    def _version(self) -> str | None:
        try:
            said = self._client.get(f"{self.url}/version").json()
        except (httpx.HTTPError, ValueError):
            return None
        version = said.get("version") if isinstance(said, dict) else None
        return version if isinstance(version, str) else None


def _of_engine(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("vllm:")]

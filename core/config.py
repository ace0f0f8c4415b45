"""Settings: frozen, read once from the environment, `.env` or a secrets folder."""

import os
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit, urlunsplit

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    FilePath,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from core.errors import ConfigError

Positive = Annotated[float, Field(gt=0)]
LANGFUSE_CLOUD = "https://cloud.langfuse.com"


def _langfuse(*names: str) -> AliasChoices:
    """Our own variable first, then the one Langfuse's clients read."""
    ours = (f"PREFIXWATCH_LANGFUSE_{name}" for name in names)
    return AliasChoices(*ours, *(f"LANGFUSE_{name}" for name in names))


RequestField = Literal[
    "logical_id",
    "gateway_request_id",
    "response_id",
    "client_request_id",
    "attempt",
    "turn_id",
    "session_id",
    "model",
    "requested_model",
    "address",
    "deployment",
    "cluster",
    "namespace",
    "pod",
    "engine",
    "arm",
    "task_type",
    "template_version",
    "tokenizer_revision",
    "engine_revision",
    "finish_reason",
    "provider",
]
"""What metadata may say about a request; nothing else of it is kept."""


class EngineLabelNames(BaseModel):
    """Which label of your Prometheus says what; the defaults fit vLLM and Kubernetes."""

    model_config = ConfigDict(frozen=True)

    cluster: str = "cluster"
    namespace: str = "namespace"
    pod: str = "pod"
    model_name: str = "model_name"
    engine: str = "engine"


class RequestKeyNames(BaseModel):
    """Under which metadata key, or `tag:prefix`, your requests say what.

    It is asked before the places that the sender's profile knows; None: only those.
    """

    model_config = ConfigDict(frozen=True)

    arm: str | None = "arm"
    task_type: str | None = "task_type"
    template_version: str | None = "template_version"
    tokenizer_revision: str | None = "tokenizer_revision"
    engine_revision: str | None = "engine_revision"
    client_request_id: str | None = "client_request_id"
    cluster: str | None = "cluster"
    namespace: str | None = "namespace"
    pod: str | None = "pod"
    engine: str | None = "engine"
    logical_id: str | None = None
    attempt: str | None = None
    turn_id: str | None = None
    finish_reason: str | None = None


class ExporterSettings(BaseModel):
    """A profile of a sender of your own, on top of a shipped one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    base: Literal["litellm", "litellm_otel", "langfuse_sdk", "opentelemetry", "unnamed"] = (
        "opentelemetry"
    )
    scope_name: str | None = None
    marker: str | None = None
    contract: Literal["exclusive", "inclusive", "two_buckets"] | None = None
    zero: Literal["measured", "unproven"] | None = None
    two_buckets: tuple[str, str] | None = None
    paths: dict[RequestField, tuple[str, ...]] = Field(default_factory=dict)
    expand: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _recognisable(self) -> Self:
        if self.scope_name is None and self.marker is None:
            raise ValueError("an exporter needs scope_name or marker to be recognised by")
        if self.two_buckets is not None and (
            self.contract != "two_buckets" or len(set(self.two_buckets)) == 1
        ):
            raise ValueError("two_buckets are two different keys, with contract two_buckets")
        return self


Word = Annotated[str, Field(min_length=1, max_length=100)]
EvaluatorKind = Literal["presence", "keyword", "rule", "judge", "reference", "human", "execution"]
"""How a score comes about: what it can say about an answer, and what not, follows from it."""


class EvaluatorSettings(BaseModel):
    """How scores of one name say what Langfuse has no fields for, and what they measure.

    `pass_at` is the first passing value of a numeric score, `pass_labels` the passing
    categories; a score has one of them at most. A boolean passes when true. Without
    either, other scores have values and no pass rate. `task_types` and `calls` say
    which requests it is meant for; of others it is not missing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: str
    evaluator: str | None = None
    evaluator_key: str = "evaluator"
    version: str | None = None
    version_key: str = "evaluator_version"
    version_from_config: bool = False
    status_key: str = "status"
    error_labels: tuple[str, ...] = ("error", "evaluator_error", "failed")
    repeat_key: str = "repeat"
    probability: Annotated[float, Field(gt=0, le=1)] | None = None
    probability_key: str = "inclusion_probability"
    source: Literal["API", "EVAL", "ANNOTATION"] | None = None
    kind: EvaluatorKind | None = None
    pass_at: Annotated[float, Field(allow_inf_nan=False)] | None = None
    pass_labels: tuple[Word, ...] = ()
    task_types: tuple[Word, ...] = ()
    calls: Literal["all", "last_of_turn"] = "all"
    measures: Annotated[str, Field(min_length=1, max_length=300)] | None = None

    @model_validator(mode="after")
    def _one_bar(self) -> Self:
        if self.pass_at is not None and self.pass_labels:
            raise ValueError(
                "pass_at is for numbers and pass_labels for categories: a score has one of them"
            )
        failing = {label.casefold() for label in self.error_labels}
        if failing & {label.casefold() for label in self.pass_labels}:
            raise ValueError("a label cannot both pass and be an error")
        return self


class Settings(BaseSettings):
    """All settings. Secrets are SecretStr: they print as ******** everywhere."""

    model_config = SettingsConfigDict(
        frozen=True,
        env_prefix="PREFIXWATCH_",
        env_file=".env",
        extra="ignore",
        env_nested_delimiter="__",
    )

    data_dir: Path = Path("data")

    prometheus_url: str | None = None
    prometheus_token: SecretStr | None = None
    prometheus_user: str | None = None
    prometheus_password: SecretStr | None = None
    prometheus_ca_file: FilePath | None = None
    prometheus_verify_tls: bool = True
    prometheus_timeout_s: Positive = 30.0
    prometheus_matchers: dict[str, str] = Field(default_factory=dict)
    replica_labels: tuple[str, ...] = ("prometheus_replica", "replica")
    labels: EngineLabelNames = Field(default_factory=EngineLabelNames)

    langfuse_url: str | None = Field(None, validation_alias=_langfuse("URL", "BASE_URL", "HOST"))
    langfuse_public_key: str | None = Field(None, validation_alias=_langfuse("PUBLIC_KEY"))
    langfuse_secret_key: SecretStr | None = Field(None, validation_alias=_langfuse("SECRET_KEY"))
    langfuse_ca_file: FilePath | None = None
    langfuse_verify_tls: bool = True
    langfuse_timeout_s: Positive = 60.0
    langfuse_environments: tuple[str, ...] = ()
    langfuse_late_s: Positive = 1200.0
    langfuse_parallel: Annotated[int, Field(ge=1, le=16)] = 4
    keys: RequestKeyNames = Field(default_factory=RequestKeyNames)
    exporters: tuple[ExporterSettings, ...] = ()
    deployments: dict[str, str] = Field(default_factory=dict)
    evaluators: tuple[EvaluatorSettings, ...] = ()

    backfill_days: Annotated[float, Field(gt=0, le=400)] = 1.0
    collect_every_s: Positive = 10.0
    settle_s: Positive = 60.0
    leave_after_s: Positive = 300.0
    kv_sample_rate: Annotated[float, Field(gt=0, le=1)] | None = None
    preempt_window_s: Annotated[int, Field(ge=60, le=3600, multiple_of=60)] = 300

    bench_launch: bool = False
    bench_targets: tuple[str, ...] = ("managed",)
    bench_vllm: str = "vllm"
    bench_serve_flags: tuple[str, ...] = ()
    bench_api_key: SecretStr | None = None

    collector: bool = True
    demo_seed: int = 7

    @model_validator(mode="before")
    @classmethod
    def _userinfo_out_of_url(cls, values: dict[str, object]) -> dict[str, object]:
        """Move user:password@ out of the address, so that the address can be shown."""
        values = {name: value for name, value in values.items() if value != ""}
        url = values.get("prometheus_url")
        if not isinstance(url, str):
            return values
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("PREFIXWATCH_PROMETHEUS_URL must start with http:// or https://")
        if parts.username is not None:
            values.setdefault("prometheus_user", parts.username)
            values.setdefault("prometheus_password", parts.password or "")
            host = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
            url = urlunsplit(parts._replace(netloc=host))
        return values | {"prometheus_url": url.rstrip("/")}

    @model_validator(mode="after")
    def _password_needs_user(self) -> Self:
        if self.prometheus_password is not None and self.prometheus_user is None:
            raise ValueError("PREFIXWATCH_PROMETHEUS_PASSWORD needs PREFIXWATCH_PROMETHEUS_USER")
        return self

    @model_validator(mode="after")
    def _langfuse_is_whole(self) -> Self:
        url, keys = self.langfuse_url, (self.langfuse_public_key, self.langfuse_secret_key)
        if url is not None and (
            not url.startswith(("http://", "https://")) or urlsplit(url).username is not None
        ):
            raise ValueError(
                "PREFIXWATCH_LANGFUSE_URL must start with http:// or https:// and hold no keys"
            )
        if (url is not None or any(keys)) and not all(keys):
            raise ValueError(
                "Langfuse needs PREFIXWATCH_LANGFUSE_PUBLIC_KEY and PREFIXWATCH_LANGFUSE_SECRET_KEY"
            )
        return self

    @property
    def langfuse_address(self) -> str | None:
        """Where Langfuse is; its cloud when only the keys are given; None: not connected."""
        if self.langfuse_public_key is None:
            return None
        return (self.langfuse_url or LANGFUSE_CLOUD).rstrip("/")

    @property
    def demo(self) -> bool:
        """Whether nothing is configured and the demo runs."""
        return self.prometheus_url is None and self.langfuse_address is None

    @property
    def connected(self) -> tuple[str, ...]:
        """Names of the sources that are configured; the demo has both."""
        given = {
            "prometheus": self.prometheus_url is not None,
            "langfuse": self.langfuse_address is not None,
        }
        return tuple(name for name, is_given in given.items() if is_given or self.demo)

    @cached_property
    def home(self) -> Path:
        """Folder of everything that is written; the demo has one of its own."""
        return self.data_dir / ("demo" if self.demo else "real")

    @property
    def backfill(self) -> timedelta:
        """How far back the first collection reads."""
        return timedelta(days=self.backfill_days)


def load_settings(**overrides: object) -> Settings:
    """Read the settings; a bad one is named without repeating secret values.

    Raises
    ------
    ConfigError
        A value cannot be used.
    """
    secrets = os.environ.get("PREFIXWATCH_SECRETS_DIR")
    try:
        return Settings(_secrets_dir=secrets, **overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        lines = [
            f"{'.'.join(str(p) for p in e['loc']) or 'settings'}: {e['msg']}"
            for e in error.errors(include_input=False, include_url=False)
        ]
        raise ConfigError("; ".join(lines)) from None
    except SettingsError as error:
        # A list or object that is no JSON; the words name the field and not its value.
        raise ConfigError(str(error)) from None

"""Settings: frozen, read once from the environment, `.env` or a secrets folder."""

import os
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from core.errors import ConfigError

Positive = Annotated[float, Field(gt=0)]


class EngineLabelNames(BaseModel):
    """Which label of your Prometheus says what; the defaults fit vLLM and Kubernetes."""

    model_config = ConfigDict(frozen=True)

    cluster: str = "cluster"
    namespace: str = "namespace"
    pod: str = "pod"
    model_name: str = "model_name"
    engine: str = "engine"


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
    prometheus_ca_file: Path | None = None
    prometheus_verify_tls: bool = True
    prometheus_timeout_s: Positive = 30.0
    prometheus_matchers: dict[str, str] = Field(default_factory=dict)
    replica_labels: tuple[str, ...] = ("prometheus_replica", "replica")
    labels: EngineLabelNames = Field(default_factory=EngineLabelNames)

    backfill_days: Annotated[float, Field(gt=0, le=400)] = 1.0
    collect_every_s: Positive = 10.0
    settle_s: Positive = 60.0
    leave_after_s: Positive = 300.0

    collector: bool = True
    demo_seed: int = 7

    @model_validator(mode="before")
    @classmethod
    def _userinfo_out_of_url(cls, values: dict[str, object]) -> dict[str, object]:
        """Move user:password@ out of the address, so that the address can be shown."""
        url = values.get("prometheus_url")
        if not isinstance(url, str) or not url:
            return {name: value for name, value in values.items() if value != ""}
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

    @property
    def demo(self) -> bool:
        """Whether nothing is configured and the demo runs."""
        return self.prometheus_url is None

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

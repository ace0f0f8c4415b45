"""Who wrote a row of usage, and what that sender means by it.

An exporter is recognised by what its rows carry. Its profile says which usage
contract it keeps, what its zero means, and under which metadata keys the identity
of a request lies. Profiles ship for LiteLLM (both callbacks), Langfuse's own
client (and its OpenAI wrapper) and plain OpenTelemetry; others are configuration.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from enum import StrEnum

from core.config import ExporterSettings


class Contract(StrEnum):
    """How an exporter's input buckets relate."""

    EXCLUSIVE = "exclusive"
    INCLUSIVE = "inclusive"
    TWO_BUCKETS = "two_buckets"


class Zero(StrEnum):
    """What a cached count of 0 means on its own."""

    MEASURED = "measured"
    UNPROVEN = "unproven"
    """The exporter also writes 0 where nothing was reported."""


@dataclass(frozen=True)
class Exporter:
    """Profile of one sender.

    `paths` gives, by field, where to look: a metadata key, `tag:prefix` for the last
    tag that begins with `prefix:`, or `key/inner` for a value inside a JSON value.
    The first that is there wins. `expand` are metadata keys to ask for whole.
    """

    key: str
    contract: Contract = Contract.EXCLUSIVE
    zero: Zero = Zero.MEASURED
    two_buckets: tuple[str, str] = ("input_uncached_tokens", "input_cached_tokens")
    usage_object: tuple[str, ...] = ()
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    expand: tuple[str, ...] = ()
    scope_name: str | None = None
    marker: str | None = None
    """A metadata key that only this exporter writes."""
    prefixed: bool = False
    """Its model names begin with the provider, as `openai/`."""


_LITELLM = Exporter(
    key="litellm",
    zero=Zero.UNPROVEN,
    usage_object=("usage_object",),
    marker="litellm_call_id",
    prefixed=True,
    expand=("usage_object", "hidden_params"),
    paths={
        "logical_id": ("litellm_call_id",),
        "gateway_request_id": ("litellm_call_id",),
        "response_id": ("response_id",),
        "client_request_id": ("client_request_id", "requester_metadata/client_request_id"),
        "attempt": ("tag:attempted_retries",),
        "address": ("api_base", "tag:api_base"),
        "deployment": ("hidden_params/model_id",),
        "requested_model": ("tag:model_group",),
        "arm": ("arm", "requester_metadata/arm", "tag:arm"),
        "template_version": ("template_version", "tag:template"),
    },
)
_LITELLM_OTEL = Exporter(
    key="litellm_otel",
    zero=Zero.MEASURED,
    usage_object=("attributes.metadata/usage_object",),
    scope_name="litellm",
    expand=("attributes.metadata",),
    paths={
        "logical_id": (
            "client_request_id",
            "attributes.metadata/requester_metadata/client_request_id",
            "attributes.llm.response.id",
        ),
        "gateway_request_id": ("client_request_id", "attributes.llm.response.id"),
        "response_id": ("attributes.llm.response.id",),
        "client_request_id": (
            "client_request_id",
            "attributes.metadata/requester_metadata/client_request_id",
        ),
        "turn_id": ("attributes.langfuse.trace.id",),
        "session_id": ("attributes.session.id",),
        "model": ("attributes.llm.model_name",),
        "requested_model": ("attributes.llm.response.model",),
        "provider": ("attributes.llm.provider",),
        "pod": ("tag:pod",),
        "arm": ("arm", "attributes.metadata/requester_metadata/arm", "tag:arm"),
        "template_version": ("template_version", "tag:template"),
    },
)
_SDK = Exporter(key="langfuse_sdk", scope_name="langfuse-sdk")
_OTEL = Exporter(
    key="opentelemetry",
    paths={
        "model": ("attributes.gen_ai.request.model",),
        "requested_model": ("attributes.gen_ai.request.model",),
        "response_id": ("attributes.gen_ai.response.id",),
        "finish_reason": ("attributes.gen_ai.response.finish_reasons",),
        "provider": ("attributes.gen_ai.provider.name", "attributes.gen_ai.system"),
        "address": ("attributes.server.address",),
    },
)
_UNNAMED = Exporter(key="unnamed", zero=Zero.MEASURED)

EXPORTERS: dict[str, Exporter] = {
    exporter.key: exporter for exporter in (_LITELLM, _LITELLM_OTEL, _SDK, _OTEL, _UNNAMED)
}


class Exporters:
    """The shipped profiles and the configured ones, which are asked first.

    A configured one with the key of a shipped one stands in its place.
    """

    def __init__(
        self, configured: Iterable[ExporterSettings] = (), keys: Mapping[str, str] | None = None
    ) -> None:
        own = {one.key: _configured(one) for one in configured}
        named = dict(keys) if keys is not None else {}
        self._known = [_with_keys(one, named) for one in (own | EXPORTERS | own).values()]
        self.by_key = {one.key: one for one in self._known}
        self._marked = [one for one in self._known if one.marker is not None]
        self._by_scope = {one.scope_name: one for one in reversed(self._known)}

    def recognise(self, scope_name: str | None, metadata_keys: Iterable[str]) -> Exporter:
        """The profile of a row: by marker key, then by instrumentation scope.

        >>> Exporters().recognise("litellm", ()).key, Exporters().recognise("x", ()).key
        ('litellm_otel', 'opentelemetry')
        >>> Exporters().recognise("langfuse-sdk", ["litellm_call_id"]).key
        'litellm'
        """
        keys = metadata_keys if isinstance(metadata_keys, AbstractSet) else set(metadata_keys)
        for one in self._marked:
            if one.marker in keys:
                return one
        if scope_name is not None and scope_name in self._by_scope:
            return self._by_scope[scope_name]
        return self.by_key["opentelemetry" if scope_name is not None else "unnamed"]

    @property
    def expand(self) -> tuple[str, ...]:
        """Metadata keys that must not be cut."""
        return tuple(dict.fromkeys(key for one in self._known for key in one.expand))

    @property
    def paths(self) -> frozenset[str]:
        """Every metadata key that any profile may read: the allow-list."""
        paths = (path for one in self._known for found in one.paths.values() for path in found)
        objects = (path for one in self._known for path in one.usage_object)
        return frozenset(path.split("/", 1)[0] for path in (*paths, *objects))


def _configured(one: ExporterSettings) -> Exporter:
    base = EXPORTERS[one.base]
    return replace(
        base,
        key=one.key,
        contract=Contract(one.contract) if one.contract is not None else base.contract,
        zero=Zero(one.zero) if one.zero is not None else base.zero,
        two_buckets=one.two_buckets if one.two_buckets is not None else base.two_buckets,
        paths={**base.paths, **{name: tuple(found) for name, found in one.paths.items()}},
        expand=(*base.expand, *one.expand),
        scope_name=one.scope_name,
        marker=one.marker,
    )


def _with_keys(one: Exporter, keys: Mapping[str, str]) -> Exporter:
    """A profile that looks first under the configured keys, wherever senders put them."""
    paths: dict[str, tuple[str, ...]] = dict(one.paths)
    for name, key in keys.items():
        paths[name] = tuple(dict.fromkeys((*_places(key), *paths.get(name, ()))))
    return replace(one, paths=paths)


def _places(key: str) -> Sequence[str]:
    return (key, f"attributes.{key}", f"resourceAttributes.{key}")

"""Who wrote a row, and which settings say so."""

import pytest

from core.config import ExporterSettings, load_settings
from core.domain.exporters import EXPORTERS, Contract, Exporters, Zero
from core.errors import ConfigError

TWICE = '[{"key": "a", "marker": "m", "contract": "two_buckets", "two_buckets": ["x", "x"]}]'
OWN = ExporterSettings(key="own", scope_name="my-gateway", contract="inclusive")


@pytest.mark.parametrize(
    ("scope", "keys", "key"),
    [
        ("langfuse-sdk", ["litellm_call_id"], "litellm"),
        (None, ["litellm_call_id"], "litellm"),
        ("litellm", [], "litellm_otel"),
        ("langfuse-sdk", [], "langfuse_sdk"),
        ("openai.instrumentation", ["attributes.gen_ai.system"], "opentelemetry"),
        (None, [], "unnamed"),
        ("my-gateway", [], "own"),
        ("my-gateway", ["litellm_call_id"], "litellm"),
    ],
)
def test_a_row_is_recognised_by_marker_then_scope(
    scope: str | None, keys: list[str], key: str
) -> None:
    """A key only one sender writes, else the instrumentation scope, else plain OpenTelemetry."""
    assert Exporters([OWN]).recognise(scope, keys).key == key


def test_a_configured_exporter_is_asked_first() -> None:
    """A marker of one's own comes before the shipped one; its base gives the rest."""
    mine = ExporterSettings(key="mine", base="litellm", marker="x_gw", zero="measured")
    found = Exporters([mine]).recognise("langfuse-sdk", ["litellm_call_id", "x_gw"])
    assert (found.key, found.zero) == ("mine", Zero.MEASURED)
    assert found.usage_object == EXPORTERS["litellm"].usage_object
    assert found.paths["logical_id"] == ("litellm_call_id",)


def test_a_configured_exporter_can_stand_in_place_of_a_shipped_one() -> None:
    """With the key of a shipped profile it is that profile, however a row is recognised."""
    mine = ExporterSettings(key="litellm", base="litellm", marker="x_gw", contract="inclusive")
    known = Exporters([mine])
    assert known.recognise(None, ["x_gw"]).contract is Contract.INCLUSIVE
    assert known.recognise("langfuse-sdk", ["litellm_call_id"]).key == "langfuse_sdk"


def test_what_must_not_be_cut_and_what_may_be_read_is_listed() -> None:
    """Metadata keys to ask for whole, and the allow-list, with the configured ones."""
    mine = ExporterSettings(
        key="mine", marker="m", paths={"pod": ("where/pod", "tag:pod")}, expand=("where",)
    )
    known = Exporters([mine], {"arm": "variant"})
    assert {"usage_object", "hidden_params", "attributes.metadata", "where"} == set(known.expand)
    assert {"where", "variant", "attributes.variant", "litellm_call_id"} <= known.paths
    assert not [path for path in known.paths if "message" in path or "input" in path]


def test_a_senders_own_pod_is_no_engine() -> None:
    """Resource attributes describe the client that sent the span, never the engine it asked."""
    for one in EXPORTERS.values():
        assert not [path for path in one.paths.get("pod", ()) if path.startswith("resource")]


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("EXPORTERS", "sk-lf-hidden {", "exporters"),
        ("EXPORTERS", '[{"key": "sk-lf-hidden"}]', "exporters.0"),
        ("EXPORTERS", '[{"key": "a", "marker": "m", "zero": "sk-lf-hidden"}]', "exporters.0.zero"),
        ("EXPORTERS", '[{"key": "a", "marker": "m", "base": "sk-lf-hidden"}]', "exporters.0.base"),
        ("EXPORTERS", '[{"key": "a", "marker": "m", "paths": {"arms": ["x"]}}]', "paths.arms"),
        ("EXPORTERS", '[{"key": "a", "marker": "m", "markers": "sk-lf-hidden"}]', "0.markers"),
        ("EXPORTERS", '[{"key": "a", "marker": "m", "two_buckets": ["x", "y"]}]', "exporters.0"),
        ("EXPORTERS", TWICE, "exporters.0"),
        ("DEPLOYMENTS", '{"sk-lf-hidden": ', "deployments"),
        ("DEPLOYMENTS", '["sk-lf-hidden"]', "deployments"),
        ("DEPLOYMENTS", '{"a:1": {"sk-lf-hidden": 1}}', "deployments.a:1"),
        ("EVALUATORS", '[{"score": "a", "probability": 0}]', "evaluators.0.probability"),
        ("EVALUATORS", '[{"score": "a", "source": "sk-lf-hidden"}]', "evaluators.0.source"),
        ("EVALUATORS", '[{"score": "a", "kind": "sk-lf-hidden"}]', "evaluators.0.kind"),
        ("EVALUATORS", '[{"score": "a", "calls": "sk-lf-hidden"}]', "evaluators.0.calls"),
        ("EVALUATORS", '[{"score": "a", "pass_at": NaN}]', "evaluators.0.pass_at"),
        ("EVALUATORS", '[{"score": "a", "pass_at": 1, "pass_labels": ["b"]}]', "evaluators.0: "),
        ("EVALUATORS", '[{"score": "a", "pass_labels": ["Error"]}]', "evaluators.0: "),
        ("EVALUATORS", '[{"score": "a", "task_types": [""]}]', "evaluators.0.task_types.0"),
        ("EVALUATORS", '[{"score": "a", "measures": ""}]', "evaluators.0.measures"),
        ("KEYS", "sk-lf-hidden", "keys"),
        ("LANGFUSE_URL", "ftp://sk-lf-hidden@host", "PREFIXWATCH_LANGFUSE_URL"),
    ],
)  # fmt: skip
def test_a_bad_setting_is_named_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, named: str
) -> None:
    """Broken JSON, unknown words and typos are one ConfigError that names the setting."""
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("PREFIXWATCH_LANGFUSE_SECRET_KEY", "sk-lf-other")
    monkeypatch.setenv(f"PREFIXWATCH_{name}", value)
    with pytest.raises(ConfigError) as error:
        load_settings(_env_file=None)
    assert named in str(error.value)
    assert "sk-lf" not in f"{error.value} {error.value!r} {error.value.__cause__}"


def test_an_empty_setting_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty variable is as good as none, whatever else is set."""
    monkeypatch.setenv("PREFIXWATCH_PROMETHEUS_URL", "http://prometheus:9090")
    for name in ("PREFIXWATCH_LANGFUSE_URL", "LANGFUSE_HOST", "PREFIXWATCH_PROMETHEUS_USER"):
        monkeypatch.setenv(name, "")
    settings = load_settings(_env_file=None)
    assert (settings.langfuse_url, settings.prometheus_user) == (None, None)

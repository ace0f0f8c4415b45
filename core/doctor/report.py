"""Findings as a report to read, as JSON, and as an exit status."""

import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from core.doctor.findings import Finding, Level, counted

WIDTH = 100
HEADINGS = {
    Level.ERROR: "Errors",
    Level.WARNING: "Warnings",
    Level.UNKNOWN: "Not known",
    Level.OK: "In order",
}
NOTHING_WRONG, WARNINGS, ERRORS, COULD_NOT_RUN = 0, 1, 2, 3


def exit_status(findings: Sequence[Finding]) -> int:
    """0 when nothing is wrong, 1 with warnings, 2 with errors; unknown is not wrong."""
    levels = {finding.level for finding in findings}
    if Level.ERROR in levels:
        return ERRORS
    return WARNINGS if Level.WARNING in levels else NOTHING_WRONG


def as_text(findings: Sequence[Finding], *, took_s: float, most_s: float) -> str:
    """The report, worst first, at most 100 columns wide where words allow it."""
    lines: list[str] = []
    for level, heading in HEADINGS.items():
        found = [finding for finding in findings if finding.level is level]
        if found:
            lines += [f"{heading} ({len(found)})", "-" * WIDTH]
            lines += _alike(found) if level is Level.UNKNOWN else _each(found)
            lines.append("")
    counts = ", ".join(
        f"{heading.lower()} {sum(f.level is level for f in findings)}"
        for level, heading in HEADINGS.items()
    )
    lines += _wrapped(
        f"{counted(len(findings), 'check')}: {counts}. Took {took_s:.1f} s; no question is begun "
        f"after {most_s:.0f} s. Nothing was changed; prompts and answers were not read.",
        "",
    )
    return "\n".join(lines) + "\n"


def as_json(findings: Sequence[Finding], *, now: float, took_s: float) -> str:
    """The same for machines."""
    checked_at = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    report = {"checked_at": checked_at, "took_s": round(took_s, 3), "findings": list(findings)}
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def _each(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        yield from _wrapped(f"{finding.title} [{finding.finding}]", "")
        yield from _wrapped(finding.detail, "    ")
        if finding.next_step is not None:
            yield from _wrapped(f"-> {finding.next_step}", "    ", later="       ")


def _alike(findings: Sequence[Finding]) -> Iterator[str]:
    """Findings of one reason together: a source that is not there is one line, not twenty."""
    reasons: dict[tuple[str, str | None], list[str]] = {}
    for finding in findings:
        name = finding.title.removesuffix(": not known")
        reasons.setdefault((finding.detail, finding.next_step), []).append(name)
    for (detail, next_step), names in reasons.items():
        yield from _wrapped(", ".join(names), "")
        yield from _wrapped(detail, "    ")
        if next_step is not None:
            yield from _wrapped(f"-> {next_step}", "    ", later="       ")


def _wrapped(text: str, indent: str, *, later: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if later is None else later,
        break_long_words=False,
        break_on_hyphens=False,
    )

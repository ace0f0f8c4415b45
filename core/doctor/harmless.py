"""What servers and rows say, made fit to print: no secret, no control character."""

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from urllib.parse import quote, quote_plus

from core.config import Settings
from core.doctor.findings import Finding

MASK = "********"
LONGEST_TEXT = 1500
SHORT = 4
"""A secret this short also stands inside ordinary words; it is hidden where it stands alone."""
USERINFO = re.compile(r"(?<=://)[^/\s@]+@")


class Harmless:
    """Hides the secrets of some settings in texts."""

    def __init__(self, settings: Settings) -> None:
        forms = {form for secret in _secrets(settings) for form in _forms(secret)}
        parts = [
            re.escape(form) if len(form) > SHORT else rf"(?<!\w){re.escape(form)}(?!\w)"
            for form in sorted(forms, key=len, reverse=True)
        ]
        self._secret = re.compile("|".join(parts)) if parts else None

    def text(self, text: str) -> str:
        """One text: secrets masked, control characters out, not too long."""
        flat = " ".join("".join(_plain(character) for character in text).split())
        told = USERINFO.sub(f"{MASK}@", flat)
        if self._secret is not None:
            told = self._secret.sub(MASK, told)
        return told if len(told) <= LONGEST_TEXT else told[: LONGEST_TEXT - 1] + "…"

    def finding(self, finding: Finding) -> Finding:
        """All texts of a finding."""
        step = finding.next_step
        return replace(
            finding,
            subject=self.text(finding.subject),
            title=self.text(finding.title),
            detail=self.text(finding.detail),
            next_step=None if step is None else self.text(step),
        )


def _plain(character: str) -> str:
    return " " if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") else character


def _secrets(settings: Settings) -> Iterator[str]:
    """Secret values, and the pairs that basic authentication sends."""
    token, password = settings.prometheus_token, settings.prometheus_password
    secret = settings.langfuse_secret_key
    if token is not None:
        yield token.get_secret_value()
    if password is not None:
        yield password.get_secret_value()
        yield _basic(settings.prometheus_user, password.get_secret_value())
    if secret is not None:
        yield secret.get_secret_value()
        yield _basic(settings.langfuse_public_key, secret.get_secret_value())


def _basic(user: str | None, password: str) -> str:
    return base64.b64encode(f"{user or ''}:{password}".encode()).decode()


def _forms(secret: str) -> Iterable[str]:
    """A secret as it may be repeated: as it is, escaped for an address, in base64."""
    if not secret:
        return ()
    flat = " ".join(secret.split())
    encoded = base64.b64encode(secret.encode()).decode()
    return (secret, flat, quote(secret, safe=""), quote_plus(secret), encoded.rstrip("="), encoded)

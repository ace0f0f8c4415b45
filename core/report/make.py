"""From a question to the bytes of a file: the same for the page and the command line."""

from dataclasses import dataclass
from enum import StrEnum

from core.cache.store import Store
from core.config import Settings
from core.demo import evaluators_of
from core.domain.scope import Scope
from core.report.csv_files import csv_archive
from core.report.document import Document
from core.report.html import html
from core.report.markdown import markdown
from core.report.period import period_document
from core.views.review import ReviewQuestion, build


class Format(StrEnum):
    """What a review can be written as."""

    HTML = "html"
    MARKDOWN = "md"
    CSV = "csv"


ENDINGS = {Format.HTML: "html", Format.MARKDOWN: "md", Format.CSV: "zip"}
MEDIA = {
    Format.HTML: "text/html",
    Format.MARKDOWN: "text/markdown",
    Format.CSV: "application/zip",
}


@dataclass(frozen=True)
class Made:
    """A file: its name and what is in it."""

    name: str
    data: bytes


def usual_question(settings: Settings) -> ReviewQuestion:
    """A question that leaves period and comparison to its scope."""
    return ReviewQuestion(evaluators=evaluators_of(settings), window_s=settings.preempt_window_s)


def document_of(store: Store, settings: Settings, scope: Scope, *, now: float) -> Document:
    """The review of a scope at a moment, seconds since the epoch."""
    return period_document(build(store, scope, now, usual_question(settings)), made_at=now)


def written(document: Document, form: Format) -> Made:
    """A document as a file of one format."""
    return Made(f"{document.name}.{ENDINGS[form]}", _data(document, form))


def _data(document: Document, form: Format) -> bytes:
    if form is Format.CSV:
        return csv_archive(document)
    text = html(document) if form is Format.HTML else markdown(document)
    return text.encode()

"""From a question to the bytes of a file: the same for the page and the command line."""

from dataclasses import dataclass, replace
from enum import StrEnum

from core.cache.store import Store
from core.config import Settings
from core.demo import evaluators_of
from core.domain.scope import Scope
from core.errors import ReportError
from core.report.csv_files import csv_archive
from core.report.document import Document
from core.report.experiment import experiment_document
from core.report.html import html
from core.report.markdown import markdown
from core.report.period import period_document
from core.views.review import ReviewQuestion, ReviewView, build


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


def document_of(
    store: Store, settings: Settings, scope: Scope, *, experiment: str | None, now: float
) -> Document:
    """The review of a scope, or of an experiment, at a moment, seconds since the epoch.

    Raises
    ------
    ReportError
        There is no readable plan of this experiment.
    """
    asked = replace(usual_question(settings), experiment=experiment)
    document = review_document(build(store, scope, now, asked), made_at=now)
    if document is None:
        raise ReportError(
            f"there is no readable plan of an experiment called {experiment}",
            next_step="The Experiments page names those that are registered.",
        )
    return document


def review_document(view: ReviewView, *, made_at: float) -> Document | None:
    """The document of a view; None where the experiment is not there."""
    if view.experiment is not None:
        return experiment_document(view.experiment, made_at=made_at)
    return None if view.period is None else period_document(view.period, made_at=made_at)


def written(document: Document, form: Format) -> Made:
    """A document as a file of one format."""
    return Made(f"{document.name}.{ENDINGS[form]}", _data(document, form))


def _data(document: Document, form: Format) -> bytes:
    if form is Format.CSV:
        return csv_archive(document)
    text = html(document) if form is Format.HTML else markdown(document)
    return text.encode()

"""The small benchmark on a real vLLM, launched from the page in a real browser, to its end.

    python tests/vllm/from_page.py MODEL PICTURES

MODEL is a folder of weights and tokenizer. Settings PREFIXWATCH_BENCH_* come from the
environment. Pictures are saved of the plan, of the job under way and of its results; what the
page says in the end is printed. Ends with 1 unless every run is valid there.
"""

import os
import sys
import time
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.bench.jobs import Jobs
from core.bench.state import JobState
from core.config import load_settings
from core.messages import say
from tests.browser.started import CHROMIUM, CHROMIUM_ARGS, StartedApp

PATIENCE_S = 300.0
LONGEST_S = 3 * 3600.0
GLANCE_S = 5.0
WIDTH, HEIGHT = 1440, 1000
TALL = """() => Math.ceil(
    document.querySelector('[data-testid=stMainBlockContainer]').getBoundingClientRect().height)"""


def main(model: Path, pictures: Path) -> int:
    """Fill in the form, press the button twice, look on, read the results."""
    pictures.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE_S * 1000)
    bench = {k: v for k, v in os.environ.items() if k.startswith("PREFIXWATCH_BENCH_")}
    data = load_settings().data_dir
    with StartedApp(data, settings=bench) as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(CHROMIUM_ARGS), timeout=PATIENCE_S * 1000
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(PATIENCE_S * 1000)
        page.goto(f"{app.url}/benchmarks")
        began = time.monotonic()
        state = _launch(page, model, pictures)
        print(f"job {state.job_id} was launched from the page", flush=True)
        state = _wait(page, state.job_id, pictures)
        print(f"job {state.step} after {time.monotonic() - began:.0f} s", flush=True)
        said = _results(page, state, pictures)
        print(said)
        browser.close()
    whole = f"{len(state.runs)} of {len(state.runs)} planned runs"
    return 0 if whole in said else 1


def _launch(page: Page, model: Path, pictures: Path) -> JobState:
    jobs = Jobs(load_settings())
    before = {state.job_id for state in jobs.all()}
    _type(page, "bench.model", "tiny")
    _type(page, "bench.tokenizer", str(model))
    _type(page, "bench.weights", str(model))
    button = page.get_by_role("button", name=say("bench.launch"), exact=True)
    expect(button).to_be_enabled()
    _picture(page, pictures / "plan.png")
    button.dblclick()
    expect(page.get_by_text(say("bench.running"), exact=True).first).to_be_visible()
    (job,) = [state for state in jobs.all() if state.job_id not in before]
    return job


def _type(page: Page, label: str, text: str) -> None:
    field = page.get_by_label(say(label), exact=True)
    field.fill(text)
    field.press("Enter")
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)


def _wait(page: Page, job_id: str, pictures: Path) -> JobState:
    """Until the job has ended; a picture when its first runs are over."""
    jobs, shown = Jobs(load_settings()), False
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        (state,) = [state for state in jobs.all() if state.job_id == job_id]
        if state.ended:
            return state
        over = sum(run.step == "done" for run in state.runs)
        if not shown and over and any(run.step == "benchmarking" for run in state.runs):
            _picture(page, pictures / "running.png")
            shown = True
        time.sleep(GLANCE_S)
    raise TimeoutError(f"job {job_id} has not ended after {LONGEST_S:g} s")


def _results(page: Page, state: JobState, pictures: Path) -> str:
    """What the page says of the job once it is stored: its verdicts, sentences and figures."""
    expect(page.get_by_text(say("bench.running"), exact=True)).to_have_count(0)
    expect(page.get_by_text(say("bench.sentences"), exact=True)).to_be_visible()
    whole = f"{len(state.runs)} planned runs"
    shown = page.get_by_test_id("stCaptionContainer").filter(has_text=whole).first.inner_text()
    _picture(page, pictures / "finished.png")
    print(f"{pictures}/plan.png, running.png, finished.png")
    lines = page.locator(".pw-line").all_inner_texts()
    tables = [
        page.locator(".pw-table", has=page.locator("th", has_text=say(key))).first.inner_text()
        for key in ("bench.col_queries_on", "bench.col_change")
    ]
    return "\n".join([shown, *lines, *tables])


def _picture(page: Page, file: Path) -> None:
    """The whole page: Streamlit scrolls inside, so the window is made as tall."""
    for _ in range(2):
        height = max(HEIGHT, int(page.evaluate(TALL)))
        page.set_viewport_size({"width": WIDTH, "height": height})
        time.sleep(2)
    page.screenshot(path=file)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))

"""Every error the program raises on purpose.

    DashboardError
      ConfigError
      SourceError
        SourceUnavailable     refused, reset, unknown host
        SourceTimeout         no answer in time
        SourceStatus          an HTTP status or an error the API names
          SourceLimited       too many requests: wait as long as it says
          SourceMissing       an API of another generation: use the one it has
        SourceContract        an answer of another shape than the API promises
      CacheError
        CacheBusyError        another process owns the cache file
        CacheSchemaError      the file was made by a newer version
        BatchError            an inbox batch that cannot be merged
      CollectorBusyError      another collector already serves this source
      EntryError              what somebody entered cannot be recorded as it is
      ReportError             a review that cannot be made
      QueryFileError          a query file that breaks its contract, with file and line
      BenchmarkError
        BenchPlanError        a plan that is refused as it is written
        BenchRefusedError     a plan that the settings do not allow here
        BenchBusyError        another job has the target
        BenchFailedError      a benchmark or a server of it that ended badly
          BenchServerError    a server that did not start, died or is not the planned one
        BenchResultError      a result file that is missing or cannot be believed

Each carries a title, a detail and a next step. They are raised with the value
seen and the rule it broke, and caught in two places only: `collect`, which
records them and goes on, and `ui`, which shows them.
"""


class DashboardError(Exception):
    """A title, what was seen, and what to do next."""

    title = "Something went wrong"
    next_step = ""

    def __init__(self, detail: str, *, next_step: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        if next_step is not None:
            self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.title}: {self.detail}"


class ConfigError(DashboardError):
    title = "A setting cannot be used"
    next_step = "Correct the setting in the environment or in .env, then start again."


class SourceError(DashboardError):
    title = "A source did not answer as expected"
    kind = "source_error"


class SourceUnavailable(SourceError):
    title = "The source cannot be reached"
    kind = "unavailable"
    next_step = "Check the address and that the server runs."


class SourceTimeout(SourceError):
    title = "The source did not answer in time"
    kind = "timeout"
    next_step = "Raise PREFIXWATCH_PROMETHEUS_TIMEOUT_S, or look at the load of the source."


class SourceStatus(SourceError):
    title = "The source refused the request"
    kind = "status"

    def __init__(self, detail: str, *, status: int, next_step: str | None = None) -> None:
        super().__init__(detail, next_step=next_step)
        self.status = status


class SourceLimited(SourceStatus):
    title = "The source limits requests"
    kind = "limited"
    next_step = "The collector waits as long as the server says and goes on by itself."

    def __init__(self, detail: str, *, retry_after_s: float) -> None:
        super().__init__(detail, status=429)
        self.retry_after_s = retry_after_s


class SourceMissing(SourceStatus):
    title = "The server speaks another generation of this API"
    kind = "missing"
    next_step = "The collector uses the generation that the server has."

    def __init__(self, detail: str) -> None:
        super().__init__(detail, status=404)


class SourceContract(SourceError):
    title = "The source answered in another shape"
    kind = "contract"
    next_step = "Check that the address is the API itself and not a login page or a proxy."


class CacheError(DashboardError):
    title = "The cache cannot be used"


class CacheBusyError(CacheError):
    title = "Another process owns the cache file"
    next_step = (
        "Only one process may open the cache. Stop the other one, or point "
        "PREFIXWATCH_DATA_DIR at another folder. Collecting needs no cache: "
        "run `python -m core.collect` without --merge and the owner will merge its batches."
    )


class CacheSchemaError(CacheError):
    title = "The cache file was made by a newer version"
    next_step = "Start the newer version again, or move the cache file away to collect afresh."


class BatchError(CacheError):
    title = "An inbox batch cannot be merged"
    next_step = "It was moved to the rejected folder beside the inbox; look at it there."


class CollectorBusyError(DashboardError):
    title = "Another collector already serves this source"
    next_step = "Wait for it or stop it; two collectors of one source would race."


class EntryError(DashboardError):
    title = "This cannot be recorded as it is"
    next_step = "Correct what is named and send it again; nothing was recorded."


class ReportError(DashboardError):
    title = "The review cannot be made"


class QueryFileError(DashboardError):
    title = "A query file breaks its contract"


class BenchmarkError(DashboardError):
    title = "A benchmark gave no result"


class BenchPlanError(BenchmarkError):
    title = "The benchmark plan is refused"
    next_step = "Correct the plan; nothing of it was started."


class BenchRefusedError(BenchmarkError):
    title = "The benchmark is not allowed here"
    next_step = "Nothing was started. The PREFIXWATCH_BENCH settings say what may be launched."


class BenchBusyError(BenchmarkError):
    title = "Another benchmark has this target"
    next_step = "Wait for it or cancel it; two at once would measure each other."


class BenchFailedError(BenchmarkError):
    title = "The benchmark failed"
    next_step = "Read the last lines of its output and of its server's log."

    def __init__(
        self, detail: str, *, exit_code: int | None = None, last_output: str | None = None
    ) -> None:
        super().__init__(detail)
        self.exit_code = exit_code
        self.last_output = last_output


class BenchServerError(BenchFailedError):
    title = "The server of the benchmark failed"
    next_step = "Look at its log in the folder of the run."


class BenchResultError(BenchmarkError):
    title = "The benchmark's result cannot be read"
    next_step = "The run counts as failed; its output says why there is no usable result."

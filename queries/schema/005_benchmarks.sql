-- Benchmarks: jobs, and every run of each. Rows are made anew from the folder of a job
-- whenever its state changes; the newest one stays.

-- One row per job. plan is the text of its file, digest tells which state of the folder,
-- judged by which rules, the rows were made from. origin: launched, imported, recorded.
create table bench_jobs (
    job_id     varchar not null,
    name       varchar not null,
    state      varchar not null,
    origin     varchar not null,
    model      varchar not null,
    tokenizer  varchar not null,
    target     varchar not null,
    runs       bigint not null,
    plan       varchar not null,
    created_at timestamptz not null,
    digest     varchar not null,
    stored_at  timestamptz not null,
    ended_at   timestamptz,
    reason     varchar
);

-- One row per planned run. Figures are there for valid runs alone: of a run that failed,
-- was cut short or is another than planned they are null, with the reason and the rules it
-- broke. Tokens and prefill time are increases of the engine's counters over the run;
-- overhead_s is what a run takes beside the measured time; file_date is the result file's
-- own date, without a zone. evidence is JSON of everything the run was judged by, with the
-- times of its requests, so that intervals can be computed again.
create table bench_runs (
    job_id         varchar not null,
    run_id         varchar not null,
    pair           varchar not null,
    case_name      varchar not null,
    caching        boolean not null,
    concurrency    bigint not null,
    repeat         bigint not null,
    seed           bigint not null,
    state          varchar not null,
    requests       bigint not null,
    stored_at      timestamptz not null,
    hash_algorithm varchar,
    verdict        varchar,
    reason         varchar,
    broken         varchar,
    input_tokens   bigint,
    output_tokens  bigint,
    queries_tokens bigint,
    hits_tokens    bigint,
    prompt_tokens  bigint,
    cached_tokens  bigint,
    prefill_time_s double,
    prefill_count  bigint,
    match_unit     bigint,
    ttft_median_ms double,
    ttft_p95_ms    double,
    e2el_median_ms double,
    duration_s     double,
    overhead_s     double,
    server_version varchar,
    config_digest  varchar,
    file_date      varchar,
    started_at     timestamptz,
    ended_at       timestamptz,
    evidence       varchar
);

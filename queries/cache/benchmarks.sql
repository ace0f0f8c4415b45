-- name: bench_digests
-- params: none
-- returns: job_id key, digest text, state text
-- One row per stored job: which state of its folder the cache holds.
select job_id, digest, state
from bench_jobs
order by job_id

-- name: bench_jobs_list
-- params: of_model varchar
-- returns: job_id key, name text, state text, origin text, model text, target text, runs runs, created_at s, ended_at s, reason text, valid runs, judged runs
-- One row per job, newest first: how many of its planned runs were judged, and are valid.
select j.job_id, j.name, j.state, j.origin, j.model, j.target, j.runs,
       epoch(j.created_at) as created_at, epoch(j.ended_at) as ended_at, j.reason,
       count(*) filter (where r.verdict = 'valid') as valid, count(r.verdict) as judged
from bench_jobs j
left join bench_runs r on r.job_id = j.job_id
where $of_model is null or j.model = $of_model
group by all
order by created_at desc, job_id

-- name: bench_other_models
-- params: of_model varchar
-- returns: jobs jobs
-- One row: jobs of other models than the one asked for.
select count(*) as jobs
from bench_jobs
where $of_model is not null and model <> $of_model

-- name: bench_job
-- params: job_id varchar
-- returns: plan text, runs runs
-- The row of one job: the text of its plan.
select plan, runs
from bench_jobs
where job_id = $job_id
order by job_id

-- name: bench_job_runs
-- params: job_id varchar
-- returns: run_id key, state text, reason text, evidence json
-- metrics: bench_queries_off, bench_queries_on, bench_hits_tokens, bench_cached_tokens, bench_hit_ratio, bench_prefill_off_s, bench_prefill_on_s, bench_ttft, bench_throughput, bench_e2e
-- One row per run of a job, in the order of the plan, with everything it is judged by.
select run_id, state, reason, evidence
from bench_runs
where job_id = $job_id
order by run_id

-- name: bench_history
-- params: of_model varchar
-- returns: job_id key, origin text, model text, created_at s, run_id key, pair text, caching bool, concurrency n, repeat n, seed n, hash_algorithm text, ttft_median_ms ms, hits_tokens tokens, prompt_tokens tokens, server_version text, config_digest text, file_date text, started_at s
-- One row per valid run of every job: figures that may be compared, and when they were measured.
select j.job_id, j.origin, j.model, epoch(j.created_at) as created_at, r.run_id, r.pair, r.caching,
       r.concurrency, r.repeat, r.seed, r.hash_algorithm, r.ttft_median_ms, r.hits_tokens,
       r.prompt_tokens, r.server_version, r.config_digest, r.file_date,
       epoch(r.started_at) as started_at
from bench_runs r
join bench_jobs j on j.job_id = r.job_id
where r.verdict = 'valid' and ($of_model is null or j.model = $of_model)
order by j.created_at, j.job_id, r.run_id

-- name: bench_speed
-- params: of_model varchar
-- returns: tokens tokens, duration_s s, overhead_s s, overheads runs, hits runs, match_unit tokens
-- One row: of all valid runs of a model the tokens, the measured seconds and those beside them,
-- how many ON runs told prefill time and more hits than a block a request, which chance cannot
-- give, and the match unit where all had the same.
select sum(input_tokens + output_tokens) as tokens, sum(duration_s) as duration_s,
       sum(overhead_s) as overhead_s, count(overhead_s) as overheads,
       count(*) filter (
           where caching and hits_tokens > requests * match_unit and prefill_count > 0
       ) as hits,
       case when min(match_unit) = max(match_unit) then min(match_unit) end as match_unit
from bench_runs r
join bench_jobs j on j.job_id = r.job_id
where r.verdict = 'valid' and j.model = $of_model

-- name: bench_levers
-- params: from timestamptz, until timestamptz
-- returns: happened_at s, kind text, origin text, what text, by_whom text, link text, pod text, model_name text
-- One row per change of the lever log between two moments, of every engine.
select epoch(l.happened_at) as happened_at, l.kind, l.origin, l.what, l.by_whom, l.link, e.pod,
       e.model_name
from levers l
left join engines e on e.engine_id = l.engine_id
where l.happened_at >= $from and l.happened_at <= $until
order by l.happened_at, l.lever_id

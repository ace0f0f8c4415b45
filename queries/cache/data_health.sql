-- name: source_states
-- params: none
-- returns: source text, state text, checked_at s, read_to s, backfill_from s, progress share, left_s s, clock_skew_s s, title text, detail text, next_step text, api text, rows_read count, retry_at s
-- One row per source that was ever asked: its newest state. A source that was
-- never connected has no row.
select source, state, epoch(checked_at) as checked_at, epoch(read_to) as read_to,
       epoch(backfill_from) as backfill_from, progress, left_s, clock_skew_s, title, detail,
       next_step, api, rows_read, epoch(retry_at) as retry_at
from sources
order by source

-- name: recent_log
-- params: most bigint
-- returns: source text, noted_at s, level text, title text, detail text, next_step text
-- One row per thing that went wrong or was warned about, newest first.
select source, epoch(noted_at) as noted_at, level, title, detail, next_step
from source_log
order by noted_at desc, log_id
limit $most

-- name: target_states
-- params: none
-- returns: cluster text, namespace text, pod text, model_name text, engine text, job text, instance text, first_at s, last_at s, gone_at s, scrape_interval_s s, up boolean, duplicate_of text
-- One row per engine and scraped address.
select e.cluster, e.namespace, e.pod, e.model_name, e.engine, t.job, t.instance,
       epoch(t.first_at) as first_at, epoch(t.last_at) as last_at, epoch(t.gone_at) as gone_at,
       t.scrape_interval_s, t.up, t.duplicate_of
from targets t
join engines e on e.engine_id = t.engine_id
order by e.cluster, e.namespace, e.model_name, e.pod, e.engine, t.job, t.instance

-- name: cache_size
-- params: none
-- returns: counter_cells count, bucket_cells count, gauge_cells count, first_minute s, last_minute s, batches count, observations count, scores count
-- One row: how much the cache holds.
select (select count(*) from counter_cells) as counter_cells,
       (select count(*) from bucket_cells) as bucket_cells,
       (select count(*) from gauge_cells) as gauge_cells,
       (select epoch(min(minute)) from counter_cells) as first_minute,
       (select epoch(max(minute)) from counter_cells) as last_minute,
       (select count(*) from batches) as batches,
       (select count(*) from observations) as observations,
       (select count(*) from scores) as scores

-- name: health_findings
-- params: none
-- returns: finding text, subject text, level text, title text, detail text, next_step text, checked_at s
-- One row per finding of the doctor's newest examination, worst first; what an older
-- one found and the newest did not is over and left out.
select f.finding, f.subject, f.level, f.title, f.detail, f.next_step,
       epoch(f.checked_at) as checked_at
from findings f
join (values ('error', 1), ('warning', 2), ('unknown', 3), ('ok', 4)) as levels (level, place)
  on levels.level = f.level
where f.checked_at = (select max(checked_at) from findings)
order by levels.place, f.finding, f.subject

-- name: completed_requests
-- params: span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: requests requests, prompt_tokens tokens, observed_s s
-- metrics: completed_requests_per_min, mean_prompt_tokens
-- One row: requests that ended and their prompt tokens, as engines count them, without
-- increases across gaps, and the seconds in which at least one engine was observed: always
-- from minutes, since of an hour in which engines took turns none knows all of it. All are
-- null where no engine counts them.
with counted as (
    select instrument, sum(increase - gap_increase) as amount
    from engine_counters
    where minute >= $start and minute < $end and span_s = $span_s
      and instrument in ('request_prompt_tokens_count', 'request_prompt_tokens_sum')
      and ($cluster is null or cluster = $cluster)
      and ($namespace is null or namespace = $namespace)
      and ($model is null or model_name = $model)
      and ($pod is null or pod = $pod)
      and ($engine is null or engine = $engine)
    group by instrument
), watched as (
    select minute, max(covered_s) as observed_s
    from engine_counters
    where minute >= $start and minute < $end and span_s = 60
      and instrument = 'request_prompt_tokens_count'
      and ($cluster is null or cluster = $cluster)
      and ($namespace is null or namespace = $namespace)
      and ($model is null or model_name = $model)
      and ($pod is null or pod = $pod)
      and ($engine is null or engine = $engine)
    group by minute
)
select sum(amount) filter (where instrument = 'request_prompt_tokens_count') as requests,
       sum(amount) filter (where instrument = 'request_prompt_tokens_sum') as prompt_tokens,
       (select sum(observed_s) from watched) as observed_s
from counted

-- name: request_coverage
-- params: start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: requests requests, with_usage requests, measured requests, violations requests, with_session requests, with_engine requests, incomplete requests
-- One row: attempts of the window, and how many carry usage, a measured cached count, a broken
-- contract, a session, and the engine or pod that served them; incomplete: without a whole answer.
select count(*) as requests,
       count(*) filter (where usage_status <> 'none') as with_usage,
       count(*) filter (where usage_status = 'measured') as measured,
       count(*) filter (where usage_status = 'violation') as violations,
       count(session_id) as with_session,
       count(*) filter (where attribution <> 'pool') as with_engine,
       count(*) filter (where state in ('error', 'cancelled', 'unfinished')) as incomplete
from requests
where start_at >= $start and start_at < $end
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
  and ($arm is null or arm = $arm)

-- name: violations_by_rule
-- params: start timestamptz, end timestamptz
-- returns: kind text, rule text, field text, exporter text, records count, examples text
-- One row per broken rule, field and sender, most records first: records whose time (else the
-- time they were first read) lies in the window, with up to three of their ids, newest first.
-- No label narrows them: a broken record may name none.
with v as (
    select v.violation_id, v.kind, v.rule, v.field, v.exporter, v.record_id,
           coalesce(v.happened_at, v.seen_at) as noted_at
    from violations v
)
select kind, rule, field, exporter, count(*) as records,
       array_to_string(list(record_id order by noted_at desc, violation_id)
           filter (where record_id is not null)[1:3], ', ') as examples
from v
where noted_at >= $start and noted_at < $end
group by kind, rule, field, exporter
order by records desc, kind, rule, field, exporter

-- name: revisions_in_period
-- params: start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: name text, revision text, requests requests, first_at s, last_at s
-- One row per kind of revision and revision that requests of the window name, most requests
-- first; revision is null where a request does not name it.
select n.name,
       case n.name when 'template_version' then r.template_version when 'model' then r.model
            when 'tokenizer_revision' then r.tokenizer_revision
            when 'engine_revision' then r.engine_revision
       end as revision,
       count(*) as requests,
       epoch(min(r.start_at)) as first_at, epoch(max(r.start_at)) as last_at
from requests r
cross join (values (1, 'model'), (2, 'template_version'), (3, 'tokenizer_revision'),
    (4, 'engine_revision')) as n (place, name)
where r.start_at >= $start and r.start_at < $end
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
  and ($arm is null or arm = $arm)
group by n.place, n.name, revision
order by n.place, requests desc, revision

-- name: schema_version
-- params: none
-- returns: number count
-- One row: the newest schema file that was applied to the cache.
select max(number) as number from schema_versions

-- name: arm_efficiency
-- params: dimension varchar, alone boolean, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: value text, session key, requests requests, measured requests, measured_tokens tokens, measured_squares count, cached_tokens tokens, ratio_sum ratio, with_input requests, input_tokens tokens, first_tokens requests, first_token_s s, timed requests, output_tokens tokens, busy_s s, busy_squares count, violations requests
-- metrics: arm_cached_tokens, arm_input_tokens, arm_request_rate, arm_first_token_s, arm_output_rate
-- One row per arm's value (as in arm_requests) and session: additive sums over the attempts
-- that start in the period. measured requests know their cached tokens; measured_tokens and
-- measured_squares are their input tokens and the squares of those. A first token counts only
-- strictly between start and end: calls that were not streamed carry their end. timed requests
-- know their output and how long they took (busy_s). session is null for requests without one,
-- unless each of them is to stand alone.
select case $dimension when 'arm' then arm when 'template_version' then template_version
            when 'model' then model when 'namespace' then namespace when 'cluster' then cluster
       end as value,
       case when session_id is not null then hash(session_id)
            when $alone then hash(observation_key, 'alone') end as session,
       count(*) as requests,
       count(*) filter (where usage_status = 'measured' and total_input > 0) as measured,
       sum(total_input) filter (where usage_status = 'measured' and total_input > 0)
           as measured_tokens,
       sum(total_input::double ** 2) filter (where usage_status = 'measured' and total_input > 0)
           as measured_squares,
       sum(cached_input) filter (where usage_status = 'measured' and total_input > 0)
           as cached_tokens,
       sum(cached_input / total_input) filter (where usage_status = 'measured' and total_input > 0)
           as ratio_sum,
       count(total_input) as with_input,
       sum(total_input) as input_tokens,
       count(*) filter (where first_token_at > start_at and first_token_at < end_at)
           as first_tokens,
       sum(epoch(first_token_at) - epoch(start_at))
           filter (where first_token_at > start_at and first_token_at < end_at) as first_token_s,
       count(output) filter (where end_at > start_at) as timed,
       sum(output) filter (where end_at > start_at) as output_tokens,
       sum(epoch(end_at) - epoch(start_at)) filter (where end_at > start_at and output is not null)
           as busy_s,
       sum((epoch(end_at) - epoch(start_at)) ** 2)
           filter (where end_at > start_at and output is not null) as busy_squares,
       count(*) filter (where usage_status = 'violation') as violations
from requests
where start_at >= $start and start_at < $end
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by value, session
order by value, session

-- name: arm_first_tokens
-- params: dimension varchar, step double, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: value text, bucket place, requests requests
-- metrics: arm_first_token_p50, arm_first_token_p95
-- One row per arm's value (as in arm_requests) and bucket of the time to first token: bucket k
-- holds times from step^k up to step^(k+1) seconds. Rules as in arm_efficiency.
select case $dimension when 'arm' then arm when 'template_version' then template_version
            when 'model' then model when 'namespace' then namespace when 'cluster' then cluster
       end as value,
       floor(ln(epoch(first_token_at) - epoch(start_at)) / ln($step))::bigint as bucket,
       count(*) as requests
from requests
where start_at >= $start and start_at < $end
  and first_token_at > start_at and first_token_at < end_at
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by value, bucket
order by value, bucket

-- name: engine_request_times
-- params: span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, instrument text, amount count, samples count
-- metrics: engine_queue_s, engine_prefill_s
-- One row per engine and part of a histogram: how much the count of requests and the sum of
-- their seconds in the queue and in prefill rose.
select engine_id, instrument, sum(increase) as amount, sum(samples) as samples
from engine_counters
where minute >= $start and minute < $end and span_s = $span_s
  and instrument in (
      'request_queue_time_seconds_count', 'request_queue_time_seconds_sum',
      'request_prefill_time_seconds_count', 'request_prefill_time_seconds_sum')
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id, instrument
order by engine_id, instrument

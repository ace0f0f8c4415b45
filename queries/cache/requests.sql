-- name: gateway_usage
-- params: start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: model text, exporter text, engine_id key, pod text, usage_status text, usage_reason text, state text, error_kind text, requests requests, input_tokens tokens, cached_tokens tokens, output_tokens tokens, ratio_sum ratio, exact_one requests, exact_one_tokens tokens, choice_tokens tokens, choice_requests requests
-- metrics: gateway_cached_share, request_cached_ratio, gateway_input_tokens
-- One row per model, exporter, engine, status of usage and completion: attempts that the
-- gateway recorded with a start in the window, and their tokens. Sums are null where no
-- attempt knows.
-- ratio_sum adds cached over total input of each measured request. choice_tokens are
-- input tokens that an engine counts again for further answers to one request (n > 1).
select model, exporter, engine_id, pod, usage_status, usage_reason, state, error_kind,
       count(*) as requests,
       sum(total_input)::bigint as input_tokens,
       (sum(cached_input) filter (where usage_status = 'measured'))::bigint as cached_tokens,
       sum(output)::bigint as output_tokens,
       sum(cached_input / total_input) filter (where usage_status = 'measured') as ratio_sum,
       count(*) filter (where usage_status = 'measured' and cached_input = total_input)
           as exact_one,
       (sum(cached_input) filter (where usage_status = 'measured' and cached_input = total_input))::bigint
           as exact_one_tokens,
       (sum(total_input * (choices - 1)) filter (where choices > 1))::bigint as choice_tokens,
       count(*) filter (where choices > 1) as choice_requests
from requests
where start_at >= $start and start_at < $end
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
  and ($arm is null or arm = $arm)
group by model, exporter, engine_id, pod, usage_status, usage_reason, state, error_kind
order by model, exporter, engine_id, pod, usage_status, usage_reason, state, error_kind

-- name: gateway_usage_over_time
-- params: bin_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: bin s, requests requests, measured requests, input_tokens tokens, cached_tokens tokens, ratio_sum ratio
-- metrics: gateway_cached_share, request_cached_ratio
-- One row per chart bin with requests: sums over those with a measured cached count, by
-- the start of the request.
select (epoch(start_at)::bigint // $bin_s) * $bin_s as bin,
       count(*) as requests,
       count(*) filter (where usage_status = 'measured') as measured,
       (sum(total_input) filter (where usage_status = 'measured'))::bigint as input_tokens,
       (sum(cached_input) filter (where usage_status = 'measured'))::bigint as cached_tokens,
       sum(cached_input / total_input) filter (where usage_status = 'measured') as ratio_sum
from requests
where start_at >= $start and start_at < $end
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
  and ($arm is null or arm = $arm)
group by bin
order by bin

-- name: gateway_attempts
-- params: start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: attempts requests, logical_requests requests
-- One row: attempts recorded in the window, and the logical requests they belong to. A
-- gateway may leave fewer rows than it made attempts.
select count(*) as attempts, count(distinct logical_id) as logical_requests
from requests
where start_at >= $start and start_at < $end
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
  and ($arm is null or arm = $arm)

-- name: newest_request
-- params: none
-- returns: newest_at s
-- One row: when the newest request that is known began; null without requests.
select epoch(max(start_at)) as newest_at
from observations
where type = 'GENERATION' and not synthetic_root

-- name: request_choices
-- params: none
-- returns: model text, arm text
-- One row per model and arm of any request: what the scope bar offers.
select model, arm
from observations
where type = 'GENERATION' and not synthetic_root
group by model, arm
order by model, arm

-- name: usage_coverage
-- params: start timestamptz, end timestamptz
-- returns: exporter text, model text, environment text, contract text, cached_scope text, requests requests, with_usage requests, measured requests, unproven requests, not_reported requests, estimates requests, violations requests, attributed requests, with_session requests, with_arm requests, changed requests, restarted requests, lag_p50_s s, lag_p95_s s
-- One row per exporter, model and contract: how many requests of the window carry what.
-- The lag is from the end of a request to its row being written, as the server says.
select exporter, model, environment, contract, cached_scope,
       count(*) as requests,
       count(*) filter (where usage_status <> 'none') as with_usage,
       count(*) filter (where usage_status = 'measured') as measured,
       count(*) filter (where usage_reason = 'zero_unproven') as unproven,
       count(*) filter (where usage_reason = 'not_reported') as not_reported,
       count(*) filter (where usage_reason = 'estimate') as estimates,
       count(*) filter (where usage_status = 'violation') as violations,
       count(*) filter (where attribution <> 'pool') as attributed,
       count(session_id) as with_session,
       count(arm) as with_arm,
       count(*) filter (where revisions > 0) as changed,
       count(*) filter (where first_start_at <> last_start_at) as restarted,
       quantile_cont(epoch(created_at) - epoch(end_at), 0.5) as lag_p50_s,
       quantile_cont(epoch(created_at) - epoch(end_at), 0.95) as lag_p95_s
from requests
where start_at >= $start and start_at < $end
group by exporter, model, environment, contract, cached_scope
order by exporter, model, environment, contract, cached_scope

-- name: evaluator_coverage
-- params: start timestamptz, end timestamptz
-- returns: name text, level text, evaluator text, evaluator_version text, source text, records count, ok count, errors count, repeats count, with_probability count, deleted count
-- One row per score name, level, evaluator and version: evaluation records of the window
-- by their time, and what they carry.
select name, level, evaluator, evaluator_version, source,
       count(*) as records,
       count(*) filter (where status = 'ok') as ok,
       count(*) filter (where status = 'error') as errors,
       count(*) filter (where repeat > 0) as repeats,
       count(inclusion_probability) as with_probability,
       count(deleted_at) as deleted
from scores
where scored_at >= $start and scored_at < $end
group by name, level, evaluator, evaluator_version, source
order by name, level, evaluator, evaluator_version, source

-- name: recent_violations
-- params: most bigint
-- returns: kind text, record_id text, trace_id text, exporter text, model text, rule text, field text, raw_value text, happened_at s, seen_at s
-- One row per broken rule of a record, newest first.
select kind, record_id, trace_id, exporter, model, rule, field, raw_value,
       epoch(happened_at) as happened_at, epoch(seen_at) as seen_at
from violations
order by seen_at desc, happened_at desc, violation_id
limit $most

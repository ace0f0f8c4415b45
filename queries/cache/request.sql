-- name: id_matches
-- params: id varchar, most bigint
-- returns: rank count, matched text, observation_key key, trace_id text, logical_id text, type text, start_at s, found count
-- One row per observation that an id names, of whatever type, by the narrowest kind of
-- id first, then newest first. found counts all of them, those beyond `most` too.
select case when observation_id = $id then 1 when gateway_request_id = $id then 2
            when response_id = $id then 3 when client_request_id = $id then 4
            when logical_id = $id then 5 when trace_id = $id then 6 else 7 end as rank,
       case when observation_id = $id then 'observation'
            when gateway_request_id = $id then 'gateway_request'
            when response_id = $id then 'response'
            when client_request_id = $id then 'client_request'
            when logical_id = $id then 'logical'
            when trace_id = $id then 'trace' else 'session' end as matched,
       observation_key, trace_id, logical_id, type, epoch(start_at) as start_at,
       count(*) over () as found
from observations
where not synthetic_root
  and (observation_id = $id or gateway_request_id = $id or response_id = $id
    or client_request_id = $id or logical_id = $id or trace_id = $id or session_id = $id)
order by rank, start_at desc, observation_key
limit $most

-- name: requests_of_id
-- params: id varchar, most bigint
-- returns: observation_id text, session_id text, turn_index count, start_at s, end_at s, model text, total_input tokens, cached_input tokens, usage_status text, state text
-- One row per request (generation) of a trace, a session or a shared request id, newest
-- first. turn_index counts from 0 and is null without a session.
select r.observation_id, r.session_id, t.turn_index,
       epoch(r.start_at) as start_at, epoch(r.end_at) as end_at, r.model, r.total_input,
       r.cached_input, r.usage_status, r.state
from requests r
left join turns t on t.session_id = r.session_id and t.turn_id = r.turn_id
where r.observation_id = $id or r.gateway_request_id = $id or r.response_id = $id
   or r.client_request_id = $id or r.logical_id = $id or r.trace_id = $id
   or r.session_id = $id
order by start_at desc, observation_id
limit $most

-- name: turns_of_id
-- params: id varchar, most bigint
-- returns: session_id text, turn_id text, turn_index count, start_at s, end_at s, start_gap_s s, idle_gap_s s, idle_gap_reason text, observations count
-- One row per turn of the session that an id names, or of the turn it names, newest first.
select session_id, turn_id, turn_index, epoch(start_at) as start_at, epoch(end_at) as end_at,
       start_gap_s, idle_gap_s, idle_gap_reason, observations
from turns
where session_id = $id or turn_id = $id
order by session_id, turn_index desc
limit $most

-- name: recent_requests
-- params: most bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: observation_id text, session_id text, turn_index count, start_at s, end_at s, model text, total_input tokens, cached_input tokens, usage_status text, state text
-- One row per request (generation) in scope and window, newest first.
select r.observation_id, r.session_id, t.turn_index,
       epoch(r.start_at) as start_at, epoch(r.end_at) as end_at, r.model, r.total_input,
       r.cached_input, r.usage_status, r.state
from requests r
left join turns t on t.session_id = r.session_id and t.turn_id = r.turn_id
where r.start_at >= $start and r.start_at < $end
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
order by start_at desc, observation_id
limit $most

-- name: cached_requests
-- params: none
-- returns: exporter text, requests count, first_at s, last_at s
-- One row per exporter: how many observations of it the cache holds, and from when to when.
select exporter, count(*) as requests, epoch(min(start_at)) as first_at,
       epoch(max(start_at)) as last_at
from observations
group by exporter
order by exporter

-- name: request_by_key
-- params: key bigint, start timestamptz, end timestamptz
-- returns: observation_id text, trace_id text, project_id text, environment text, name text, session_id text, turn_id text, exporter text, logical_id text, gateway_request_id text, response_id text, client_request_id text, start_at s, end_at s, first_token_at s, first_start_at s, last_start_at s, model text, requested_model text, address text, cluster text, namespace text, pod text, engine text, engine_id key, attribution text, arm text, task_type text, template_version text, tokenizer_revision text, engine_revision text, state text, state_basis text, error_kind text, choices count, usage_status text, usage_reason text, contract text, cached_scope text, total_input tokens, cached_input tokens, cache_write_input tokens, other_input tokens, output tokens, total tokens, raw_usage text, revisions count, updated_at s
-- metrics: cached_ratio
-- One row: everything the cache holds about one request (generation), which starts in
-- the given period: of a long history only that stretch is looked at.
select observation_id, trace_id, project_id, environment, name, session_id, turn_id, exporter,
       logical_id, gateway_request_id, response_id, client_request_id,
       epoch(start_at) as start_at, epoch(end_at) as end_at,
       epoch(first_token_at) as first_token_at, epoch(first_start_at) as first_start_at,
       epoch(last_start_at) as last_start_at, model, requested_model, address, cluster,
       namespace, pod, engine, engine_id, attribution, arm, task_type, template_version,
       tokenizer_revision, engine_revision, state, state_basis, error_kind, choices,
       usage_status, usage_reason, contract, cached_scope, total_input, cached_input,
       cache_write_input, other_input, output, total, raw_usage, revisions,
       epoch(updated_at) as updated_at
from requests
where observation_key = $key and start_at >= $start and start_at < $end
order by observation_id

-- name: attempts
-- params: logical_id varchar, most bigint, start timestamptz, end timestamptz
-- returns: observation_key key, observation_id text, attempt count, start_at s, end_at s, first_token_at s, state text, state_basis text, error_kind text, pod text, engine text, address text, attribution text, usage_status text, total_input tokens, cached_input tokens, output tokens
-- One row per attempt seen of one logical request that starts in a period, by start. A
-- gateway may have made more.
select observation_key, observation_id, attempt, epoch(start_at) as start_at,
       epoch(end_at) as end_at, epoch(first_token_at) as first_token_at, state, state_basis,
       error_kind, pod, engine, address, attribution, usage_status, total_input,
       cached_input, output
from requests
where logical_id = $logical_id and start_at >= $start and start_at < $end
order by start_at, observation_key
limit $most

-- name: trace_observations
-- params: trace_id varchar, most bigint, start timestamptz, end timestamptz
-- returns: observation_key key, type text, name text, start_at s, end_at s, first_token_at s, state text, found count
-- One row per observation of one trace that starts in a period, of whatever type, by
-- start. found counts all of them, those beyond `most` too. Roots that Langfuse made up are left out.
select observation_key, type, name, epoch(start_at) as start_at, epoch(end_at) as end_at,
       epoch(first_token_at) as first_token_at, state,
       count(*) over () as found
from observations
where trace_id = $trace_id and start_at >= $start and start_at < $end
  and not synthetic_root
order by start_at, observation_key
limit $most

-- name: turn
-- params: session_id varchar, turn_id varchar
-- returns: turn_index count, turns count, start_at s, end_at s, start_gap_s s, idle_gap_s s, idle_gap_reason text, observations count
-- One row: a turn of a session, with how many turns the session has in the cache.
select turn_index, turns, epoch(start_at) as start_at, epoch(end_at) as end_at, start_gap_s,
       idle_gap_s, idle_gap_reason, observations
from (
    select turn_id, turn_index, start_at, end_at, start_gap_s, idle_gap_s, idle_gap_reason,
           observations, count(*) over () as turns
    from turns
    where session_id = $session_id
)
where turn_id = $turn_id
order by turn_index

-- name: scores_of_request
-- params: observation_id varchar, trace_id varchar, session_id varchar, most bigint
-- returns: level text, name text, evaluator text, evaluator_version text, status text, value score, label text, repeat count, inclusion_probability ratio, scored_at s, deleted_at s
-- One row per score of one observation, of its trace and of its session, each at its own
-- level; none is copied from one level to another. Deleted ones are among them.
select level, name, evaluator, evaluator_version, status, value, label, repeat,
       inclusion_probability, epoch(scored_at) as scored_at,
       epoch(deleted_at) as deleted_at
from scores
where (level = 'observation' and observation_id = $observation_id
        and (trace_id is null or trace_id = $trace_id))
   or (level = 'trace' and trace_id = $trace_id)
   or (level = 'session' and session_id = $session_id)
order by level, name, evaluator, evaluator_version, repeat, scored_at, score_id
limit $most

-- name: violations_of_request
-- params: observation_id varchar, trace_id varchar
-- returns: rule text, field text, raw_value text
-- One row per rule that one observation broke, with the field and what stood there.
select rule, field, raw_value
from violations
where kind = 'observation' and record_id = $observation_id and trace_id = $trace_id
order by rule, field, violation_id

-- name: order_answer
-- params: order_id bigint
-- returns: outcome text, answered_at s, searched_from s, searched_to s, detail text
-- One row: what became of an order; none while nobody has answered it.
select outcome, epoch(answered_at) as answered_at, epoch(searched_from) as searched_from,
       epoch(searched_to) as searched_to, detail
from orders
where order_id = $order_id
order by answered_at

-- name: preemption_cells
-- params: start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, minute s, increase events, gap_increase events, samples count, largest_gap_s s, first_at s, last_at s
-- One row per engine and minute: what the state of preemption windows is made from.
-- Always minutes, however long the period is.
select engine_id, epoch(minute)::bigint as minute, sum(increase) as increase,
       sum(gap_increase) as gap_increase, sum(samples)::bigint as samples,
       max(largest_gap_s) as largest_gap_s,
       epoch(min(first_at)) as first_at, epoch(max(last_at)) as last_at
from engine_counters
where minute >= $start and minute < $end and span_s = 60
  and instrument = 'num_preemptions'
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id, minute
order by engine_id, minute

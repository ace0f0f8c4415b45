-- name: preemption_strip
-- params: bin_s bigint, window_s bigint, fewest bigint, coverage double, gap_intervals double, read_to double, late double, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, bin s, first_window s, ones count, zeros count, unknowns count, why text, events events, samples count, expected count
-- metrics: preempt_window
-- One row per engine and stretch of whole windows, in which the engine was there: how many
-- windows are 1, 0 and unknown, a reason where any is unknown, events between scrapes, and
-- scrapes seen and expected.
select w.engine_id, (w.window_at // $bin_s) * $bin_s as bin,
       min(w.window_at) as first_window,
       count(*) filter (where w.state = '1') as ones,
       count(*) filter (where w.state = '0') as zeros,
       count(*) filter (where w.state = 'unknown') as unknowns,
       min(w.why) as why, sum(w.events) as events,
       sum(w.samples)::bigint as samples, sum(w.expected) as expected
from preempt_windows(
    $start, $end, $window_s, $fewest, $coverage, $gap_intervals, $read_to, $late
) w
join engines e on e.engine_id = w.engine_id
where ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by w.engine_id, bin
order by engine_id, bin

-- name: requests_by_exposure
-- params: window_s bigint, fewest bigint, coverage double, gap_intervals double, read_to double, late double, tolerance double, longest double, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: exposure text, requests requests, engine_level requests, pod_level requests, pool_level requests, incomplete requests, cancelled requests, timeouts requests, other_errors requests, unfinished requests, first_tokens requests, whole_latencies requests, ttft_p50 s, ttft_p95 s, ended requests, latency_p50 s, latency_p95 s, sessions count
-- metrics: request_exposure, incomplete_rate, request_ttft, request_latency
-- One row per exposure with requests: attempts that start in the window, how narrowly their
-- engine is known, how they ended, and quantiles over rows: time to first token of those
-- with a real one, latency of complete ones whose end is not their start.
-- whole_latencies counts rows whose "first token" is their end or lies outside of them.
with r as (
    select exposure, attribution, state, error_kind, session_id,
           epoch(end_at) - epoch(start_at) as latency_s,
           epoch(first_token_at) - epoch(start_at) as ttft_s,
           first_token_at is not null as has_first,
           first_token_at >= start_at and (end_at is null or first_token_at < end_at) as real_first,
           state in ('complete', 'truncated') and end_at > start_at as timed
    from exposed_requests(
        $start, $end, $window_s, $fewest, $coverage, $gap_intervals, $read_to, $late,
        $tolerance, $longest
    )
    where ($cluster is null or cluster = $cluster)
      and ($namespace is null or namespace = $namespace)
      and ($model is null or model = $model)
      and ($pod is null or pod = $pod)
      and ($engine is null or engine = $engine)
      and ($arm is null or arm = $arm)
)
select exposure, count(*) as requests,
       count(*) filter (where attribution = 'engine') as engine_level,
       count(*) filter (where attribution = 'pod') as pod_level,
       count(*) filter (where attribution = 'pool') as pool_level,
       count(*) filter (where state in ('error', 'cancelled', 'unfinished')) as incomplete,
       count(*) filter (where state = 'cancelled') as cancelled,
       count(*) filter (where state = 'error' and error_kind is not distinct from 'timeout')
           as timeouts,
       count(*) filter (where state = 'error' and error_kind is distinct from 'timeout')
           as other_errors,
       count(*) filter (where state = 'unfinished') as unfinished,
       count(*) filter (where real_first) as first_tokens,
       count(*) filter (where has_first and not real_first) as whole_latencies,
       quantile_cont(ttft_s, 0.5) filter (where real_first) as ttft_p50,
       quantile_cont(ttft_s, 0.95) filter (where real_first) as ttft_p95,
       count(*) filter (where timed) as ended,
       quantile_cont(latency_s, 0.5) filter (where timed) as latency_p50,
       quantile_cont(latency_s, 0.95) filter (where timed) as latency_p95,
       count(distinct session_id) as sessions
from r
group by exposure
order by exposure

-- name: scores_by_exposure
-- params: window_s bigint, fewest bigint, coverage double, gap_intervals double, read_to double, late double, tolerance double, longest double, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: name text, evaluator text, evaluator_version text, data_type text, exposure text, requests requests, sessions count, value_sum score, evaluator_errors requests
-- metrics: score_mean, pass_rate
-- One row per score, evaluator, version, data type and exposure: complete requests (also
-- truncated ones, and those without a known end) with a score of their own, each with the
-- mean of its repeats, added up. A record that says error has no value. Deleted scores,
-- and scores of a trace or a session, are left out.
with r as (
    select observation_id, trace_id, session_id, exposure
    from exposed_requests(
        $start, $end, $window_s, $fewest, $coverage, $gap_intervals, $read_to, $late,
        $tolerance, $longest
    )
    where state in ('complete', 'truncated', 'unknown')
      and ($cluster is null or cluster = $cluster)
      and ($namespace is null or namespace = $namespace)
      and ($model is null or model = $model)
      and ($pod is null or pod = $pod)
      and ($engine is null or engine = $engine)
      and ($arm is null or arm = $arm)
), scored as (
    select s.name, s.evaluator, s.evaluator_version, s.data_type, r.exposure, r.observation_id,
           r.trace_id, any_value(r.session_id) as session_id,
           avg(s.value) filter (where s.status = 'ok') as value
    from scores s
    join r on r.observation_id = s.observation_id
          and (s.trace_id is null or s.trace_id = r.trace_id)
    where s.level = 'observation' and s.deleted_at is null and s.scored_at >= $start
      and (s.value is not null or s.status = 'error')
    group by s.name, s.evaluator, s.evaluator_version, s.data_type, r.exposure,
             r.observation_id, r.trace_id
)
select name, evaluator, evaluator_version, data_type, exposure,
       count(value) as requests, count(distinct session_id) filter (where value is not null) as sessions,
       sum(value) as value_sum, count(*) filter (where value is null) as evaluator_errors
from scored
group by name, evaluator, evaluator_version, data_type, exposure
order by name, evaluator, evaluator_version, data_type, exposure

-- name: requests_over_window
-- params: window_at bigint, window_end bigint, engine_id bigint, window_s bigint, tolerance double, longest double, most bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: observation_id text, trace_id text, session_id text, start_at s, end_at s, model text, attribution text, state text, error_kind text, found count
-- metrics: request_exposure
-- One row per request that overlaps a stretch of whole windows and may have run on one engine, by start;
-- found counts all of them, those beyond `most` too. The period holds every start of a
-- request that may still run in them.
select r.observation_id, r.trace_id, r.session_id, epoch(r.start_at) as start_at,
       epoch(r.end_at) as end_at, r.model, r.attribution, r.state, r.error_kind,
       count(*) over () as found
from placed_requests($start, $end, $window_s, $tolerance, $longest) r
join (
    select distinct place
    from engines_of_places($start, $end, $window_s, $tolerance, $longest)
    where engine_id = $engine_id
) m on m.place = r.place
where r.first_window * $window_s < $window_end and r.last_window * $window_s >= $window_at
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
  and ($arm is null or arm = $arm)
order by start_at, observation_id
limit $most

-- name: request_preemptions
-- params: span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, samples count, requests requests, preemptions events
-- metrics: mean_request_preemptions
-- One row per engine that exports the histogram: finished requests, and the preemptions
-- they had, between neighbouring scrapes.
select engine_id,
       sum(samples) filter (where instrument = 'request_num_preemptions_count') as samples,
       sum(increase) filter (where instrument = 'request_num_preemptions_count') as requests,
       sum(increase) filter (where instrument = 'request_num_preemptions_sum') as preemptions
from engine_counters
where minute >= $start and minute < $end and span_s = $span_s
  and instrument in ('request_num_preemptions_count', 'request_num_preemptions_sum')
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id
order by engine_id

-- name: request_preemption_buckets
-- params: span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, le events, requests requests
-- metrics: requests_preempted_twice
-- One row per engine and upper edge: finished requests that fell into this bucket alone.
-- All edges that the engine exports are there; one without a request has null.
with here as (
    select engine_id, le, sum(increase) as requests
    from engine_buckets
    where minute >= $start and minute < $end and span_s = $span_s
      and instrument = 'request_num_preemptions'
    group by engine_id, le
)
select s.engine_id, s.le, any_value(h.requests) as requests
from series s
join engines e on e.engine_id = s.engine_id
left join here h on h.engine_id = s.engine_id and h.le = s.le
where s.instrument = 'request_num_preemptions' and s.le is not null
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by s.engine_id, s.le
order by engine_id, le

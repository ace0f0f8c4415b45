-- name: score_series
-- params: start timestamptz, end timestamptz
-- returns: level text, name text, evaluator text, evaluator_version text, data_type text, source text, records count, errors count, sampled count, whole count, smallest_probability ratio, first_at s, last_at s
-- metrics: evaluation_coverage
-- One row per level, score, evaluator, version and data type with records of the window. source
-- is known where all of them come from one.
-- sampled counts records with an inclusion probability, whole those where it is 1.
select level, name, evaluator, evaluator_version, data_type,
       case when min(source) = max(source) then min(source) end as source,
       count(*) as records,
       count(*) filter (where status = 'error') as errors,
       count(inclusion_probability) as sampled,
       count(*) filter (where inclusion_probability = 1) as whole,
       min(inclusion_probability) as smallest_probability,
       epoch(min(scored_at)) as first_at, epoch(max(scored_at)) as last_at
from scores
where deleted_at is null and scored_at >= $start and scored_at < $end
group by level, name, evaluator, evaluator_version, data_type
order by level, name, evaluator, evaluator_version, data_type

-- name: graded
-- params: by varchar, across varchar, score varchar, evaluator varchar, evaluator_version varchar, data_type varchar, pass_at double, pass_labels varchar[], sampled boolean, skips boolean, task_types varchar[], last_of_turn boolean, turned boolean, idle_edges double[], input_edges double[], turn_edges double[], load_edges double[], block_s bigint, window_s bigint, fewest bigint, coverage double, gap_intervals double, read_to double, late double, tolerance double, longest double, only_task_type varchar, only_template_version varchar, only_input_length varchar, only_turn_position varchar, only_load varchar, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: observation_key key, session_key key, start_at time, by_value text, across_value text, status text, passed score, value score, has_score flag, weight count, total_input tokens, cached_input tokens, idle_gap_s s, exact_one flag
-- One row per logical request that an evaluator is meant for, with its groups in two dimensions
-- and its status in the statistics: incomplete before anything else; 'ok' with a valid record;
-- 'conflict' where a record is there twice with different content; 'unknown_probability' where the
-- evaluator says probabilities (`sampled`) and the record does not; without a record 'not_sampled'
-- where it leaves requests out by design (`skips`), else 'missing'. weight is one over the
-- inclusion probability. Tokens are those of measured usage. A group that is not known is
-- 'unknown'; turns, exposure and load are looked up where they are asked for. In no order: nobody
-- sees these rows, other queries read them.
with exposures as (
    select observation_key, exposure
    from exposed_requests(
        case when 'preempt_window' in ($by, $across) then $start else $end end, $end,
        $window_s, $fewest, $coverage, $gap_intervals, $read_to, $late, $tolerance, $longest
    )
), loads as (
    select engine_id, minute, sum(value_sum) / sum(samples) as running
    from engine_gauges
    where instrument = 'num_requests_running' and span_s = 60 and minute < $end
      and minute >= case when 'load' in ($by, $across) or $only_load is not null
                         then date_trunc('minute', $start) else $end end
    group by engine_id, minute
), ends as (
    select turn_id, max(start_at) as start_at
    from logical_requests(case when $last_of_turn then $start else $end end, $end)
    group by turn_id
), described as (
    select r.observation_key, r.observation_id, r.trace_id, r.session_id, r.start_at,
           r.cluster, r.namespace, r.model, r.pod, r.engine, r.arm,
           case when r.task_type is null then 'unknown' else r.task_type end as task_type,
           case when r.template_version is null then 'unknown' else r.template_version end
               as template_version,
           r.state in ('error', 'cancelled', 'unfinished') as incomplete,
           r.total_input, case when r.usage_status = 'measured' then r.cached_input end as cached_input,
           t.idle_gap_s,
           case when r.usage_status = 'violation' then 'contract_violation'
                when r.usage_status <> 'measured' or r.total_input = 0 then 'unknown'
                when r.cached_input = 0 then '0'
                when 2 * r.cached_input <= r.total_input then '(0,0.5]'
                when 10 * r.cached_input <= 9 * r.total_input then '(0.5,0.9]'
                else '(0.9,1]' end as cached_stratum,
           r.usage_status = 'measured' and r.cached_input = r.total_input and r.total_input > 0
               as exact_one,
           case when t.turn_index = 0 then 'first_turn' else bin_of(t.idle_gap_s, $idle_edges) end
               as idle_bin,
           bin_of(r.total_input, $input_edges) as input_bin,
           bin_of(t.turn_index + 1, $turn_edges) as turn_bin,
           bin_of(l.running, $load_edges) as load_bin,
           case when x.exposure is null then 'unknown' else x.exposure end as exposure,
           ((epoch(r.start_at)::bigint // $block_s) * $block_s)::varchar as block_at
    from logical_requests($start, $end) r
    left join (
        select session_id, turn_id, turn_index, idle_gap_s from turns where $turned
    ) t on t.session_id = r.session_id and t.turn_id = r.turn_id
    left join exposures x on x.observation_key = r.observation_key
    left join loads l on l.engine_id = r.engine_id and l.minute = date_trunc('minute', r.start_at)
    left join ends on ends.turn_id = r.turn_id
    where not $last_of_turn or ends.start_at is null or r.start_at = ends.start_at
)
select observation_key, case when session_id is not null then hash(session_id) end as session_key,
       start_at,
       group_of(
           $by, arm, model, task_type, template_version, cached_stratum, idle_bin, exposure,
           input_bin, turn_bin, load_bin, block_at, namespace, cluster
       ) as by_value,
       group_of(
           $across, arm, model, task_type, template_version, cached_stratum, idle_bin, exposure,
           input_bin, turn_bin, load_bin, block_at, namespace, cluster
       ) as across_value,
       case when incomplete then 'incomplete'
            when conflicts then 'conflict'
            when oks > 0 and $sampled and inclusion_probability is null then 'unknown_probability'
            when oks > 0 then 'ok'
            when errors > 0 then 'evaluator_error'
            when $skips then 'not_sampled'
            else 'missing' end as status,
       passed, value, oks > 0 and not conflicts as has_score,
       case when $sampled then 1 / inclusion_probability else 1.0 end as weight,
       total_input, cached_input, idle_gap_s, exact_one
from described
left join grades($score, $evaluator, $evaluator_version, $data_type, $pass_at, $pass_labels, $start)
  on observation = hash(observation_id) and (trace is null or trace = hash(trace_id))
where ($task_types is null or list_contains($task_types, task_type))
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
  and ($arm is null or arm = $arm)
  and ($only_task_type is null or task_type = $only_task_type)
  and ($only_template_version is null or template_version = $only_template_version)
  and ($only_input_length is null or input_bin = $only_input_length)
  and ($only_turn_position is null or turn_bin = $only_turn_position)
  and ($only_load is null or load_bin = $only_load)

-- name: quality_sums
-- params: alone boolean
-- reads: graded
-- returns: by_value text, across_value text, session key, requests requests, incomplete requests, scored requests, passes score, pass_known requests, values score, value_known requests, weight count, squares count, weightless requests, errors requests, missing requests, not_sampled requests, conflicts requests, lost_weight count, lost_known requests, scored_incomplete requests, cached_tokens tokens, cached_known requests, exact_one requests
-- metrics: pass_rate, score_mean, incomplete_rate, evaluation_coverage, quality_difference
-- One row per session and pair of groups: additive sums over the logical requests that an
-- evaluator is meant for. passes and values are weighted sums over scored requests (complete,
-- with a valid record and a known weight), weight and squares the sums of their weights and of
-- the squares. weightless requests have a record without a known probability; scored_incomplete
-- ones a score on an incomplete answer, which is in no other sum. lost_weight is the sum of the
-- weights of requests that should have a score and have none (missing, evaluator error, conflict,
-- weightless), lost_known how many of them have a known weight. session is null for requests
-- without one, unless each of them is to stand alone.
select by_value, across_value,
       case when session_key is null and $alone then hash(observation_key, 'alone')
            else session_key end as session,
       count(*) as requests,
       count(*) filter (where status = 'incomplete') as incomplete,
       count(*) filter (where status = 'ok') as scored,
       sum(weight * passed) filter (where status = 'ok') as passes,
       count(passed) filter (where status = 'ok') as pass_known,
       sum(weight * value) filter (where status = 'ok') as values,
       count(value) filter (where status = 'ok') as value_known,
       sum(weight) filter (where status = 'ok') as weight,
       sum(weight * weight) filter (where status = 'ok') as squares,
       count(*) filter (where status = 'unknown_probability') as weightless,
       count(*) filter (where status = 'evaluator_error') as errors,
       count(*) filter (where status = 'missing') as missing,
       count(*) filter (where status = 'not_sampled') as not_sampled,
       count(*) filter (where status = 'conflict') as conflicts,
       sum(weight) filter (where status in (
           'missing', 'evaluator_error', 'conflict', 'unknown_probability'
       )) as lost_weight,
       count(weight) filter (where status in (
           'missing', 'evaluator_error', 'conflict', 'unknown_probability'
       )) as lost_known,
       count(*) filter (where status = 'incomplete' and has_score) as scored_incomplete,
       sum(cached_input)::bigint as cached_tokens, count(cached_input) as cached_known,
       count(*) filter (where exact_one) as exact_one
from graded
group by by_value, across_value, session
order by by_value, across_value, session

-- name: quality_ranks
-- params: factor varchar, alone boolean
-- reads: graded
-- returns: across_value text, session key, n requests, x ranks, y ranks, xx ranks, yy ranks, xy ranks, whole_x ranks, whole_y ranks, whole_xx ranks, whole_yy ranks, whole_xy ranks
-- metrics: rank_association
-- One row per stratum and session: sums of the mid-ranks of a factor (cached ratio or idle gap)
-- and of the score, of their squares and products. Ranks are among the scored requests of the
-- stratum that know the factor, those of whole_ among all of them; ties share the mean of their
-- ranks.
with known as materialized (
    select across_value,
           case when session_key is null and $alone then hash(observation_key, 'alone')
                else session_key end as session,
           case when $factor = 'idle_gap' then idle_gap_s
                when total_input > 0 then cached_input / total_input end as factor,
           case when value is null then passed else value end as grade
    from graded
    where status = 'ok' and session is not null and factor is not null
      and grade is not null
), factors as (
    select across_value, factor, count(*) as n from known group by across_value, factor
), grades as (
    select across_value, grade, count(*) as n from known group by across_value, grade
), factor_ranks as (
    select across_value, factor,
           (sum(n) over (partition by across_value order by factor))::double - (n - 1) / 2 as x,
           (sum(n) over (order by factor))::double
               - (sum(n) over (partition by factor) - 1)::double / 2 as whole_x
    from factors
), grade_ranks as (
    select across_value, grade,
           (sum(n) over (partition by across_value order by grade))::double - (n - 1) / 2 as y,
           (sum(n) over (order by grade))::double
               - (sum(n) over (partition by grade) - 1)::double / 2 as whole_y
    from grades
), ranked as (
    select known.across_value, session, x, y, whole_x, whole_y
    from known
    join factor_ranks f on f.across_value = known.across_value and f.factor = known.factor
    join grade_ranks g on g.across_value = known.across_value and g.grade = known.grade
)
select across_value, session, count(*) as n, sum(x) as x, sum(y) as y, sum(x * x) as xx,
       sum(y * y) as yy, sum(x * y) as xy, sum(whole_x) as whole_x, sum(whole_y) as whole_y,
       sum(whole_x * whole_x) as whole_xx, sum(whole_y * whole_y) as whole_yy,
       sum(whole_x * whole_y) as whole_xy
from ranked
group by across_value, session
order by across_value, session

-- name: quality_requests
-- params: by_value varchar, across_value varchar, most bigint
-- reads: graded
-- returns: observation_id text, session_id text, start_at s, model text, task_type text, template_version text, arm text, total_input tokens, cached_input tokens, state text, status text, passed score, value score, found requests
-- metrics: pass_rate
-- One row per logical request of a group, newest first: those that failed in a repeat or in all,
-- then those that lack a score (incomplete ones too), then the rest: those that passed, that have
-- no pass mark, or were not chosen to be scored. found counts all of them, those beyond `most` too.
with listed as (
    select observation_key, start_at, total_input, cached_input, status, passed, value,
           count(*) over () as found,
           case when status = 'ok' and passed < 1 then 0
                when status in ('ok', 'not_sampled') then 2 else 1 end as place
    from graded
    where ($by_value is null or by_value = $by_value)
      and ($across_value is null or across_value = $across_value)
    order by place, start_at desc, observation_key
    limit $most
)
select r.observation_id, r.session_id, epoch(l.start_at) as start_at, r.model,
       case when r.task_type is null then 'unknown' else r.task_type end as task_type,
       case when r.template_version is null then 'unknown' else r.template_version end
           as template_version,
       r.arm, l.total_input, l.cached_input, r.state, l.status, l.passed, l.value, l.found
from listed l
join requests r on r.observation_key = l.observation_key
order by place, l.start_at desc, r.observation_id

-- name: quality_choices
-- params: start timestamptz, end timestamptz
-- returns: task_type text, template_version text
-- One row per task type and template version of requests that start in the window; null is not
-- known.
select task_type, template_version
from requests
where start_at >= $start and start_at < $end
group by task_type, template_version
order by task_type, template_version

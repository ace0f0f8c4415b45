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

-- name: quality_sums
-- params: by varchar, across varchar, score varchar, evaluator varchar, evaluator_version varchar, data_type varchar, pass_at double, pass_labels varchar[], sampled boolean, skips boolean, task_types varchar[], last_of_turn boolean, turned boolean, alone boolean, idle_edges double[], input_edges double[], turn_edges double[], load_edges double[], block_s bigint, window_s bigint, fewest bigint, coverage double, gap_intervals double, read_to double, late double, tolerance double, longest double, only_task_type varchar, only_template_version varchar, only_input_length varchar, only_turn_position varchar, only_load varchar, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
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
       case when session_id is not null then hash(session_id)
            when $alone then hash(observation_key, 'alone') end as session,
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
       count(*) filter (where incomplete and has_score) as scored_incomplete,
       (sum(cached_input) filter (where usage_status = 'measured'))::bigint as cached_tokens,
       count(*) filter (where usage_status = 'measured') as cached_known,
       count(*) filter (where exact_one) as exact_one
from graded_requests(
    $by, $across, $score, $evaluator, $evaluator_version, $data_type, $pass_at, $pass_labels,
    $sampled, $skips, $task_types, $last_of_turn, $turned, $start, $end, $idle_edges, $input_edges,
    $turn_edges, $load_edges, $block_s, $window_s, $fewest, $coverage, $gap_intervals, $read_to, $late,
    $tolerance, $longest, $only_load is not null
)
where ($cluster is null or cluster = $cluster)
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
group by by_value, across_value, session
order by by_value, across_value, session

-- name: quality_ranks
-- params: factor varchar, by varchar, across varchar, score varchar, evaluator varchar, evaluator_version varchar, data_type varchar, pass_at double, pass_labels varchar[], sampled boolean, skips boolean, task_types varchar[], last_of_turn boolean, turned boolean, alone boolean, idle_edges double[], input_edges double[], turn_edges double[], load_edges double[], block_s bigint, window_s bigint, fewest bigint, coverage double, gap_intervals double, read_to double, late double, tolerance double, longest double, only_task_type varchar, only_template_version varchar, only_input_length varchar, only_turn_position varchar, only_load varchar, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: across_value text, session key, n requests, x ranks, y ranks, xx ranks, yy ranks, xy ranks, whole_x ranks, whole_y ranks, whole_xx ranks, whole_yy ranks, whole_xy ranks
-- metrics: rank_association
-- One row per stratum and session: sums of the mid-ranks of a factor (cached ratio or idle gap)
-- and of the score, of their squares and products. Ranks are among the scored requests of the
-- stratum that know the factor, those of whole_ among all of them; ties share the mean of their
-- ranks.
with r as materialized (
    select across_value,
           case when session_id is not null then hash(session_id)
                when $alone then hash(observation_key, 'alone') end as session,
           case when $factor = 'idle_gap' then idle_gap_s
                when usage_status = 'measured' and total_input > 0
                then cached_input / total_input end as factor,
           case when value is null then passed else value end as grade
    from graded_requests(
        $by, $across, $score, $evaluator, $evaluator_version, $data_type, $pass_at, $pass_labels,
        $sampled, $skips, $task_types, $last_of_turn, $turned, $start, $end, $idle_edges,
        $input_edges, $turn_edges, $load_edges, $block_s, $window_s, $fewest, $coverage, $gap_intervals,
        $read_to, $late, $tolerance, $longest, $only_load is not null
    )
    where status = 'ok'
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
), known as (
    select across_value, session, factor, grade
    from r
    where session is not null and factor is not null and grade is not null
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
-- params: by_value varchar, across_value varchar, most bigint, by varchar, across varchar, score varchar, evaluator varchar, evaluator_version varchar, data_type varchar, pass_at double, pass_labels varchar[], sampled boolean, skips boolean, task_types varchar[], last_of_turn boolean, turned boolean, idle_edges double[], input_edges double[], turn_edges double[], load_edges double[], block_s bigint, window_s bigint, fewest bigint, coverage double, gap_intervals double, read_to double, late double, tolerance double, longest double, only_task_type varchar, only_template_version varchar, only_input_length varchar, only_turn_position varchar, only_load varchar, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: observation_id text, session_id text, start_at s, model text, task_type text, template_version text, arm text, total_input tokens, cached_input tokens, state text, status text, passed score, value score, found requests
-- metrics: pass_rate
-- One row per logical request of a group, newest first: those that failed in a repeat or in all,
-- then those that lack a score (incomplete ones too), then the rest: those that passed, that have
-- no pass mark, or were not chosen to be scored. found counts all of them, those beyond `most` too.
select observation_id, session_id, epoch(start_at) as start_at, model, task_type,
       template_version, arm, total_input,
       case when usage_status = 'measured' then cached_input end as cached_input,
       state, status, passed, value, count(*) over () as found
from (
    select graded.*, case when status = 'ok' and passed < 1 then 0
                          when status in ('ok', 'not_sampled') then 2 else 1 end as place
    from graded_requests(
        $by, $across, $score, $evaluator, $evaluator_version, $data_type, $pass_at, $pass_labels,
        $sampled, $skips, $task_types, $last_of_turn, $turned, $start, $end, $idle_edges, $input_edges,
        $turn_edges, $load_edges, $block_s, $window_s, $fewest, $coverage, $gap_intervals, $read_to, $late,
        $tolerance, $longest, $only_load is not null
    ) graded
)
where ($by_value is null or by_value = $by_value)
  and ($across_value is null or across_value = $across_value)
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
order by place, start_at desc, observation_id
limit $most

-- name: coarse_scores
-- params: start timestamptz, end timestamptz
-- returns: level text, name text, evaluator text, evaluator_version text, data_type text, session key, scored count, categories count, errors count, weightless count, conflicts count, values score, weight count, squares count
-- metrics: coarse_pass_rate
-- One row per session and series of scores about whole turns (traces) and whole sessions: each
-- turn or session counts once, repeats averaged, by the rules of single requests (see the macro
-- `grades`). scored have a number and a known weight, categories a category and no number; errors
-- have no valid record; weightless lack the probability that others of the series say; conflicts
-- have one record twice with different content. They are never copied to the requests in them.
-- session is null where it is not known, or not one.
with found as (
    select hash(level, name, evaluator, evaluator_version, data_type) as series, level, name,
           evaluator, evaluator_version, data_type,
           hash(case when level = 'session' then session_id else trace_id end) as subject,
           repeat, status, value, label, inclusion_probability
    from scores
    where level in ('trace', 'session') and deleted_at is null
      and scored_at >= $start and scored_at < $end
), series as (
    select series, level, name, evaluator, evaluator_version, data_type,
           count(inclusion_probability) > 0 as sampled
    from found
    group by series, level, name, evaluator, evaluator_version, data_type
), records as (
    select series, subject, repeat,
           conflicting(status, value, label, inclusion_probability) as conflicts,
           bool_and(status = 'ok') as valid, any_value(value) as value,
           any_value(inclusion_probability) as probability
    from found
    group by series, subject, repeat
), subjects as (
    select series, subject, bool_or(conflicts) as conflicts,
           bool_or(valid) and not bool_or(conflicts) as ok, avg(value) filter (where valid) as value,
           agreed(case when valid then probability end) as probability
    from records
    group by series, subject
), turns_seen as (
    select hash(trace_id) as subject, min(hash(session_id)) as session,
           max(hash(session_id)) as another
    from observations
    where session_id is not null and start_at >= $start - interval '1 day' and start_at < $end
    group by subject
), placed as (
    select o.series, o.conflicts, o.ok,
           case when s.sampled then 1 / o.probability else 1.0 end as weight,
           case when o.ok and weight is not null then o.value end as value,
           case when s.level = 'session' then o.subject
                when t.session = t.another then t.session end as session
    from subjects o
    join series s on s.series = o.series
    left join turns_seen t on t.subject = o.subject and s.level = 'trace'
), counted as (
    select series, session,
           count(value) as scored,
           count(*) filter (where ok and weight is not null and value is null) as categories,
           count(*) filter (where not ok and not conflicts) as errors,
           count(*) filter (where ok and weight is null) as weightless,
           count(*) filter (where conflicts) as conflicts,
           sum(weight * value) as values,
           sum(weight) filter (where value is not null) as weight,
           sum(weight * weight) filter (where value is not null) as squares
    from placed
    group by series, session
)
select level, name, evaluator, evaluator_version, data_type, session, scored, categories, errors,
       weightless, conflicts, values, weight, squares
from counted
join series on series.series = counted.series
order by level, name, evaluator, evaluator_version, data_type, session

-- name: repeat_counts
-- params: score varchar, evaluator varchar, evaluator_version varchar, data_type varchar, pass_at double, pass_labels varchar[], start timestamptz, end timestamptz
-- returns: session key, units requests, split requests, both_pass count, first_pass count, second_pass count, both_fail count
-- metrics: repeat_agreement
-- One row per session: complete logical requests that one evaluator and version judged in more
-- than one repeat, those whose verdicts differ, and the first two verdicts of each against each
-- other. The same record twice is one; a request with conflicting records is left out.
-- The rule of `logical_requests`, for the attempts of judged requests alone: a fraction of all.
with mine as (
    select hash(observation_id) as observation,
           case when trace_id is not null then hash(trace_id) end as trace,
           repeat, status, value, label, inclusion_probability
    from scores
    where level = 'observation' and deleted_at is null and scored_at >= $start
      and name = $score and evaluator = $evaluator
      and evaluator_version is not distinct from $evaluator_version and data_type = $data_type
), again as (
    select observation, trace from mine group by observation, trace having count(*) > 1
), records as (
    select m.observation, m.trace, repeat,
           conflicting(status, value, label, inclusion_probability) as conflicts,
           case when bool_and(status = 'ok') then passes(
               $data_type, any_value(value), any_value(label), $pass_at, $pass_labels
           ) end as passed
    from mine m
    join again a on a.observation = m.observation and a.trace is not distinct from m.trace
    group by m.observation, m.trace, repeat
), units as (
    select observation, trace, min(passed) <> max(passed) as differs,
           list(passed order by repeat) filter (where passed is not null) as verdicts
    from records
    group by observation, trace
    having count(passed) > 1 and not bool_or(conflicts)
), tried as (
    select logical_id
    from observations
    where start_at >= $start and start_at < $end
      and hash(observation_id) in (select observation from units)
)
select hash(r.session_id) as session, count(*) as units,
       count(*) filter (where differs) as split,
       count(*) filter (where verdicts[1] = 1 and verdicts[2] = 1) as both_pass,
       count(*) filter (where verdicts[1] = 1 and verdicts[2] = 0) as first_pass,
       count(*) filter (where verdicts[1] = 0 and verdicts[2] = 1) as second_pass,
       count(*) filter (where verdicts[1] = 0 and verdicts[2] = 0) as both_fail
from units u
join observations r
  on hash(r.observation_id) = u.observation and (u.trace is null or u.trace = hash(r.trace_id))
where r.observation_key in (
    select arg_max(observation_key, ending(state, start_at, observation_id))
    from observations
    where type = 'GENERATION' and not synthetic_root and start_at >= $start and start_at < $end
      and logical_id in (select logical_id from tried)
    group by logical_id
) and r.session_id is not null and r.state not in ('error', 'cancelled', 'unfinished')
group by session
order by session

-- name: agreement_counts
-- params: score varchar, evaluator varchar, evaluator_version varchar, data_type varchar, pass_at double, pass_labels varchar[], reference_score varchar, reference_evaluator varchar, reference_version varchar, reference_type varchar, reference_pass_at double, reference_labels varchar[], start timestamptz, end timestamptz
-- returns: session key, both_pass count, only_evaluator count, only_reference count, both_fail count
-- metrics: evaluator_agreement
-- One row per session: complete logical requests that an evaluator and a reference (a human, a
-- known answer, an execution) both graded, by their verdicts. A request whose repeats differ is on
-- the side of the larger part; one that is split evenly, or has conflicting records, is left out.
-- The rule of `logical_requests`, for the attempts of judged requests alone: a fraction of all.
with units as materialized (
    select e.observation, e.trace, e.passed > 0.5 as one, f.passed > 0.5 as other
    from grades(
        $score, $evaluator, $evaluator_version, $data_type, $pass_at, $pass_labels, $start
    ) e
    join grades(
        $reference_score, $reference_evaluator, $reference_version, $reference_type,
        $reference_pass_at, $reference_labels, $start
    ) f on f.observation = e.observation and f.trace is not distinct from e.trace
    where not e.conflicts and not f.conflicts and e.passed <> 0.5 and f.passed <> 0.5
), tried as (
    select logical_id
    from observations
    where start_at >= $start and start_at < $end
      and hash(observation_id) in (select observation from units)
)
select hash(r.session_id) as session,
       count(*) filter (where one and other) as both_pass,
       count(*) filter (where one and not other) as only_evaluator,
       count(*) filter (where not one and other) as only_reference,
       count(*) filter (where not one and not other) as both_fail
from units u
join observations r
  on hash(r.observation_id) = u.observation and (u.trace is null or u.trace = hash(r.trace_id))
where r.observation_key in (
    select arg_max(observation_key, ending(state, start_at, observation_id))
    from observations
    where type = 'GENERATION' and not synthetic_root and start_at >= $start and start_at < $end
      and logical_id in (select logical_id from tried)
    group by logical_id
) and r.session_id is not null and r.state not in ('error', 'cancelled', 'unfinished')
group by session
order by session

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

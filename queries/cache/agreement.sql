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
    select arg_max(observation_key, ending(state, start_at, observation_key))
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
    select e.observation, case when e.trace is null then f.trace else e.trace end as trace,
           e.passed > 0.5 as one, f.passed > 0.5 as other
    from grades(
        $score, $evaluator, $evaluator_version, $data_type, $pass_at, $pass_labels, $start
    ) e
    join grades(
        $reference_score, $reference_evaluator, $reference_version, $reference_type,
        $reference_pass_at, $reference_labels, $start
    ) f on f.observation = e.observation
       and (f.trace = e.trace or f.trace is null or e.trace is null)
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
    select arg_max(observation_key, ending(state, start_at, observation_key))
    from observations
    where type = 'GENERATION' and not synthetic_root and start_at >= $start and start_at < $end
      and logical_id in (select logical_id from tried)
    group by logical_id
) and r.session_id is not null and r.state not in ('error', 'cancelled', 'unfinished')
group by session
order by session

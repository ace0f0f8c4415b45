-- Requests as the quality side counts them: the rules of core/domain/strata.py and
-- core/domain/evaluations.py for many requests at once. Made anew whenever a cache is opened.

-- Which bin a value lies in, counted from 0; a value on an edge belongs to the bin above it.
create or replace macro bin_of(value, edges) as
case when value is null then 'unknown'
     when value < edges[1] then '0'
     when value < edges[2] then '1'
     when value < edges[3] then '2'
     when value < edges[4] then '3'
     when value < edges[5] then '4'
     when value < edges[6] then '5'
     else len(edges)::varchar end;

-- The attempt that ended a logical request is the greatest of this: a complete one if there is
-- any, else the last.
create or replace macro ending(state, start_at, observation_id) as
(state not in ('error', 'cancelled', 'unfinished'), start_at, observation_id);

-- One row per logical request whose attempts start in the period: the attempt that ended it.
create or replace macro logical_requests(from_at, to_at) as table
select r.*
from requests r
where start_at >= from_at and start_at < to_at and observation_key in (
    select arg_max(observation_key, ending(state, start_at, observation_id))
    from observations
    where type = 'GENERATION' and not synthetic_root and start_at >= from_at and start_at < to_at
    group by logical_id
);

-- One row per logical request with everything it can be grouped by, as text. A group that is
-- not known is 'unknown'. `turned`, `exposed` and `loaded` tell whether turns, exposure and load
-- are asked for: they are not looked up otherwise, and unknown. block_at is the start of its stretch of block_s seconds.
create or replace macro described_requests(
    from_at, to_at, turned, exposed, loaded, idle_edges, input_edges, turn_edges, load_edges, block_s,
    window_s, fewest, coverage, gap_intervals, read_to, late, tolerance, longest
) as table
with exposures as (
    select observation_key, exposure
    from exposed_requests(
        case when exposed then from_at else to_at end, to_at, window_s, fewest, coverage,
        gap_intervals, read_to, late, tolerance, longest
    )
), loads as (
    select engine_id, minute, sum(value_sum) / sum(samples) as running
    from engine_gauges
    where instrument = 'num_requests_running' and span_s = 60
      and minute >= case when loaded then date_trunc('minute', from_at) else to_at end
      and minute < to_at
    group by engine_id, minute
)
select r.observation_key, r.observation_id, r.trace_id, r.turn_id, r.session_id, r.start_at,
       r.cluster, r.namespace, r.model, r.pod, r.engine, r.arm,
       case when r.task_type is null then 'unknown' else r.task_type end as task_type,
       case when r.template_version is null then 'unknown' else r.template_version end
           as template_version,
       r.state, r.state in ('error', 'cancelled', 'unfinished') as incomplete,
       r.usage_status, r.total_input, r.cached_input, t.idle_gap_s,
       case when r.usage_status = 'violation' then 'contract_violation'
            when r.usage_status <> 'measured' or r.total_input = 0 then 'unknown'
            when r.cached_input = 0 then '0'
            when 2 * r.cached_input <= r.total_input then '(0,0.5]'
            when 10 * r.cached_input <= 9 * r.total_input then '(0.5,0.9]'
            else '(0.9,1]' end as cached_stratum,
       r.usage_status = 'measured' and r.cached_input = r.total_input and r.total_input > 0
           as exact_one,
       case when t.turn_index = 0 then 'first_turn' else bin_of(t.idle_gap_s, idle_edges) end
           as idle_bin,
       bin_of(r.total_input, input_edges) as input_bin,
       bin_of(t.turn_index + 1, turn_edges) as turn_bin,
       bin_of(l.running, load_edges) as load_bin,
       case when e.exposure is null then 'unknown' else e.exposure end as exposure,
       ((epoch(r.start_at)::bigint // block_s) * block_s)::varchar as block_at
from logical_requests(from_at, to_at) r
left join (
    select session_id, turn_id, turn_index, idle_gap_s from turns where turned
) t on t.session_id = r.session_id and t.turn_id = r.turn_id
left join exposures e on e.observation_key = r.observation_key
left join loads l on l.engine_id = r.engine_id and l.minute = date_trunc('minute', r.start_at);

-- Whether the values of records that should be alike are not; null is unlike any value.
create or replace macro differ(x) as
min(x) is distinct from max(x) or count(x) between 1 and count(*) - 1;

-- Whether records of one key (a subject and repeat of one score, evaluator and version) say
-- different things: then none of them counts.
create or replace macro conflicting(status, value, label, inclusion_probability) as
differ(status = 'ok') or differ(value) or differ(label) or differ(inclusion_probability);

-- The probability that all records which say one agree on; null where they do not, or none does.
create or replace macro agreed(probability) as
case when min(probability) = max(probability) then min(probability) end;

-- Whether one value passes; null where nothing says which values do.
create or replace macro passes(kind, value, label, pass_at, pass_labels) as
case when kind = 'BOOLEAN' then value
     when kind = 'NUMERIC' then (value >= pass_at)::bigint
     when kind = 'CATEGORICAL' and len(pass_labels) > 0
     then list_contains(pass_labels, label)::bigint end;

-- One row per request that has records of one score, evaluator and version of its own, by the
-- hashes of its ids (numbers are grouped and joined at a fraction of the cost of texts):
-- repeats averaged, `conflicts` where one record is there twice with different content.
-- `passed` is null where nothing says which values pass. The probability is the one that the
-- valid records agree on, or the others where none is valid.
create or replace macro grades(
    score, by_evaluator, by_version, kind, pass_at, pass_labels, from_at
) as table
with records as (
    select hash(observation_id) as observation,
           case when trace_id is not null then hash(trace_id) end as trace, repeat,
           conflicting(status, value, label, inclusion_probability) as conflicts,
           bool_and(status = 'ok') as valid, any_value(value) as value,
           any_value(label) as label, any_value(inclusion_probability) as inclusion_probability
    from scores
    where level = 'observation' and deleted_at is null and scored_at >= from_at
      and name = score and evaluator = by_evaluator
      and evaluator_version is not distinct from by_version and data_type = kind
    group by observation, trace, repeat
), graded as (
    select records.*, valid and not conflicts as ok,
           passes(kind, value, label, pass_at, pass_labels) as passed
    from records
)
select observation, trace,
       count(*) filter (where ok) as oks,
       count(*) filter (where not valid and not conflicts) as errors,
       bool_or(conflicts) as conflicts,
       avg(passed) filter (where ok) as passed,
       avg(value) filter (where ok) as value,
       case when count(*) filter (where ok) > 0
            then agreed(case when ok then inclusion_probability end)
            else agreed(inclusion_probability) end as inclusion_probability
from graded
group by observation, trace;

-- The value of one dimension of a request. 'nothing' puts all of them together.
create or replace macro group_of(
    dimension, arm, model, task_type, template_version, cached_stratum, idle_bin, exposure,
    input_bin, turn_bin, load_bin, block_at, namespace, cluster
) as
case dimension
    when 'cached_ratio' then cached_stratum
    when 'idle_gap' then idle_bin
    when 'preempt_window' then exposure
    when 'input_length' then input_bin
    when 'turn_position' then turn_bin
    when 'load' then load_bin
    when 'time' then block_at
    when 'arm' then case when arm is null then 'unknown' else arm end
    when 'model' then case when model is null then 'unknown' else model end
    when 'namespace' then case when namespace is null then 'unknown' else namespace end
    when 'cluster' then case when cluster is null then 'unknown' else cluster end
    when 'task_type' then task_type
    when 'template_version' then template_version
    else 'all' end;

-- One row per logical request that an evaluator is meant for, with its status in the statistics:
-- incomplete before anything else; 'ok' with a valid record; 'conflict' where a record is there
-- twice with different content; 'unknown_probability' where the evaluator says probabilities
-- (`sampled`) and the record does not say how likely it was; without a record 'not_sampled' where
-- it leaves requests out by design (`skips`), else 'missing'. weight is one over the inclusion
-- probability. by_value and across_value are its groups in two dimensions; the
-- load is known where it is one of them, or where by_load asks for it.
create or replace macro graded_requests(
    by_dimension, across_dimension, score, by_evaluator, by_version, kind, pass_at, pass_labels,
    sampled, skips, task_types, last_of_turn, turned,
    from_at, to_at, idle_edges, input_edges, turn_edges, load_edges, block_s,
    window_s, fewest, coverage, gap_intervals, read_to, late, tolerance, longest, by_load
) as table
with ends as (
    select turn_id, max(start_at) as start_at
    from logical_requests(case when last_of_turn then from_at else to_at end, to_at)
    group by turn_id
), d as (
    select described.*
    from described_requests(
        from_at, to_at, turned, 'preempt_window' in (by_dimension, across_dimension),
        by_load or 'load' in (by_dimension, across_dimension), idle_edges, input_edges, turn_edges,
        load_edges, block_s, window_s, fewest, coverage, gap_intervals, read_to, late, tolerance,
        longest
    ) described
)
select d.*,
       g.passed, g.value, g.oks > 0 and not g.conflicts as has_score,
       case when d.incomplete then 'incomplete'
            when g.conflicts then 'conflict'
            when g.oks > 0 and sampled and g.inclusion_probability is null
                then 'unknown_probability'
            when g.oks > 0 then 'ok'
            when g.errors > 0 then 'evaluator_error'
            when skips then 'not_sampled'
            else 'missing' end as status,
       case when sampled then 1 / g.inclusion_probability else 1.0 end as weight,
       group_of(
           by_dimension, d.arm, d.model, d.task_type, d.template_version, d.cached_stratum,
           d.idle_bin, d.exposure, d.input_bin, d.turn_bin, d.load_bin, d.block_at, d.namespace,
           d.cluster
       ) as by_value,
       group_of(
           across_dimension, d.arm, d.model, d.task_type, d.template_version, d.cached_stratum,
           d.idle_bin, d.exposure, d.input_bin, d.turn_bin, d.load_bin, d.block_at, d.namespace,
           d.cluster
       ) as across_value
from d
left join grades(score, by_evaluator, by_version, kind, pass_at, pass_labels, from_at) g
  on g.observation = hash(d.observation_id) and (g.trace is null or g.trace = hash(d.trace_id))
left join ends e on e.turn_id = d.turn_id
where (task_types is null or list_contains(task_types, d.task_type))
  and (not last_of_turn or e.start_at is null or d.start_at = e.start_at);

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
-- any, else the last; of two at one moment, either, but always the same one. One number, because
-- the greatest of numbers is found at a third of the cost of the greatest row.
create or replace macro ending(state, start_at, observation_key) as
((state not in ('error', 'cancelled', 'unfinished'))::hugeint << 124)
    + (epoch_us(start_at)::hugeint << 63) + observation_key;

-- One row per logical request whose attempts start in the period: the attempt that ended it.
create or replace macro logical_requests(from_at, to_at) as table
select r.*
from requests r
where start_at >= from_at and start_at < to_at and observation_key in (
    select arg_max(observation_key, ending(state, start_at, observation_key))
    from observations
    where type = 'GENERATION' and not synthetic_root and start_at >= from_at and start_at < to_at
    group by logical_id
);

-- Whether records of one key (a subject and repeat of one score, evaluator and version) say
-- different things: then none of them counts.
create or replace macro conflicting(status, value, label, inclusion_probability) as
min(hash(status = 'ok', value, label, inclusion_probability))
    <> max(hash(status = 'ok', value, label, inclusion_probability));

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
-- repeats averaged, `conflicts` where one record is there twice with different content. A record
-- that does not say its trace is of the one that others of its request say.
-- `passed` is null where nothing says which values pass; the probability where its records do
-- not agree.
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
), told as (
    select observation, agreed(trace) as trace
    from records
    where observation in (select observation from records where trace is null)
    group by observation
), graded as (
    select records.observation,
           case when records.trace is null then told.trace else records.trace end as trace,
           conflicts, valid, valid and not conflicts as ok, value, inclusion_probability,
           passes(kind, value, label, pass_at, pass_labels) as passed
    from records
    left join told on told.observation = records.observation
)
select observation, trace,
       count(*) filter (where ok) as oks,
       count(*) filter (where not valid and not conflicts) as errors,
       bool_or(conflicts) as conflicts,
       avg(passed) filter (where ok) as passed,
       avg(value) filter (where ok) as value,
       agreed(inclusion_probability) as inclusion_probability
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

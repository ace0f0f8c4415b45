-- name: experiment_plans
-- params: experiment varchar
-- returns: experiment text, version number, plan_hash text, registered_at s, registered_by text, body json
-- One row per registered version of a plan, of one experiment or of all, oldest first.
select experiment, version, plan_hash, epoch(registered_at) as registered_at, registered_by, body
from experiment_plans
where $experiment is null or experiment = $experiment
order by experiment, registered_at, version, plan_hash

-- name: experiment_looks
-- params: experiment varchar
-- returns: look_key key, experiment text, plan_hash text, number place, taken_at s, taken_by text, verdict text, body json
-- One row per look, planned or not, of one experiment or of all, oldest first.
select look_key, experiment, plan_hash, number, epoch(taken_at) as taken_at, taken_by, verdict, body
from experiment_looks
where $experiment is null or experiment = $experiment
order by experiment, taken_at, look_key

-- name: experiment_decisions
-- params: experiment varchar
-- returns: decision_key key, experiment text, plan_hash text, look_key key, decided_at s, decided_by text, decision text, verdict text, override boolean, reason text
-- One row per decision, of one experiment or of all, oldest first.
select decision_key, experiment, plan_hash, look_key, epoch(decided_at) as decided_at, decided_by,
       decision, verdict, override, reason
from experiment_decisions
where $experiment is null or experiment = $experiment
order by experiment, decided_at, decision_key

-- name: changes_in_period
-- params: start timestamptz, end timestamptz
-- returns: lever_id key, happened_at s, kind text, origin text, what text, by_whom text, link text, engine_id key, cluster text, namespace text, model_name text
-- One row per entry of the lever log, whatever its scope, with the labels of its engine:
-- whom it concerns is decided with the arms.
select l.lever_id, epoch(l.happened_at) as happened_at, l.kind, l.origin, l.what, l.by_whom, l.link,
       l.engine_id, e.cluster, e.namespace, e.model_name
from levers l
left join engines e on e.engine_id = l.engine_id
where l.happened_at >= $start and l.happened_at < $end
order by l.happened_at, l.lever_id

-- name: arm_requests
-- params: dimension varchar, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: value text, requests requests, sessions sessions, without_session requests, first_at s, last_at s
-- One row per value of the attribute that tells arms apart, null for requests without
-- it; for any other dimension, one row of all requests. By the start of the request.
select case $dimension when 'arm' then arm when 'template_version' then template_version
            when 'model' then model when 'namespace' then namespace when 'cluster' then cluster
       end as value,
       count(*) as requests,
       count(distinct session_id) as sessions,
       count(*) filter (where session_id is null) as without_session,
       epoch(min(start_at)) as first_at, epoch(max(start_at)) as last_at
from requests
where start_at >= $start and start_at < $end
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by 1
order by value

-- name: arm_revisions
-- params: dimension varchar, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: value text, name text, revision text, requests requests, first_at s, last_at s
-- One row per arm's value (as in arm_requests), kind of revision and revision; revision
-- is null where a request does not name it.
select case $dimension when 'arm' then r.arm when 'template_version' then r.template_version
            when 'model' then r.model when 'namespace' then r.namespace
            when 'cluster' then r.cluster
       end as value,
       n.name,
       case n.name when 'template_version' then r.template_version when 'model' then r.model
            when 'tokenizer_revision' then r.tokenizer_revision
            when 'engine_revision' then r.engine_revision
       end as revision,
       count(*) as requests,
       epoch(min(r.start_at)) as first_at, epoch(max(r.start_at)) as last_at
from requests r
cross join (values ('template_version'), ('model'), ('tokenizer_revision'), ('engine_revision'))
    as n (name)
where r.start_at >= $start and r.start_at < $end
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by 1, 2, 3
order by value, name, revision

-- name: arm_evaluators
-- params: dimension varchar, score varchar, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: value text, evaluator text, evaluator_version text, records records, errors records
-- One row per arm's value (as in arm_requests), evaluator and version: records of one
-- score about single requests that started in the period. Deleted records are left out.
select case $dimension when 'arm' then r.arm when 'template_version' then r.template_version
            when 'model' then r.model when 'namespace' then r.namespace
            when 'cluster' then r.cluster
       end as value,
       s.evaluator, s.evaluator_version,
       count(*) as records,
       count(*) filter (where s.status = 'error') as errors
from requests r
join scores s on s.observation_id = r.observation_id
    and (s.trace_id is null or s.trace_id = r.trace_id)
where s.level = 'observation' and s.name = $score and s.deleted_at is null
  and r.start_at >= $start and r.start_at < $end
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by 1, 2, 3
order by value, evaluator, evaluator_version

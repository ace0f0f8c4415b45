-- name: follow_up_reach
-- params: start timestamptz, end timestamptz
-- returns: from_s s, until_s s
-- One row: the stretch of time in which the first requests of the window's follow-up
-- turns, and the requests of the turns before them, began; null without follow-up turns.
-- Of a turn without an end, requests later than an hour after its start are not looked for.
select min(epoch(start_at) - start_gap_s) as from_s,
       max(epoch(case when end_at is null then start_at + interval 1 hour else end_at end)) as until_s
from turns
where turn_index >= 1 and start_at >= $start and start_at < $end

-- name: follow_ups
-- params: block_tokens bigint, from timestamptz, until timestamptz, bin_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: bin s, place text, turns turns, measured turns, input_tokens tokens, cached_tokens tokens, gaps turns, gap_median_s s, offers turns, offered_tokens tokens, delivered_tokens tokens, above turns, above_tokens tokens, assumed_blocks turns, overlapping turns, other_model turns, pod_level turns, pool_level turns, no_request turns, long_ago turns
-- metrics: same_engine_share, follow_up_cached_share, follow_up_idle_gap, offered_tokens, offered_delivered_share
-- Follow-up turns (turn_index from 1) that start in the window and hold a request. One
-- row per place over the whole window (bin is null), and one per chart bin and place.
--
-- A turn is asked by its first request that is attributed to an engine, or, without one,
-- by its first request; labels and arm of the scope are those of this request, and so are
-- input_tokens and cached_tokens, summed where its cached count is measured. The engine of
-- the turn before is that of its last request attributed to an engine. place is `same`,
-- `another`, or `unknown`: the turn before began before $from and is not looked for
-- (long_ago), it holds no request (no_request), one side names neither engine nor pod
-- (pool_level), or one side names only a pod (pod_level), the first of these that applies.
--
-- Offered: what the session's own history could have given at most,
--     floor(min(history, input - 1) / block) * block
-- with history = input + output of the last request with usage in the turn before. It
-- assumes that the prompt repeats this history from its first token and changes nothing
-- in it; one token at least is computed. `core.domain.affinity.offered_tokens` is the same
-- rule. block is the block size in the configuration of the engine that was asked, else
-- $block_tokens (assumed_blocks). No offer is known where usage is missing, where the
-- turn before was still running (overlapping) or is not looked for, or where another model
-- was asked (other_model). Sums of offers are over turns whose cached count is measured too:
-- delivered_tokens are their cached tokens, and above counts those with more of them than
-- were offered, by above_tokens, which other prefixes gave.
with chosen as (
    select f.session_id, f.turn_id, f.start_at as turn_at, f.idle_gap_s, f.idle_gap_reason,
           p.turn_id as previous_id
    from turns f
    left join turns p on p.session_id = f.session_id and p.turn_index = f.turn_index - 1
      and p.start_at >= $from and p.start_at < $end
    where f.turn_index >= 1 and f.start_at >= $start and f.start_at < $end
),
near as materialized (
    select session_id, turn_id, start_at, observation_key, engine_id, attribution, cluster,
           namespace, model, pod, engine, arm, usage_status, total_input, cached_input,
           case when usage_status in ('measured', 'unknown')
                 and usage_reason is distinct from 'estimate' then total_input + output end
               as history
    from requests
    where start_at >= $from and start_at < $until
      and session_id in (select session_id from chosen)
),
asked as (
    select c.session_id, c.turn_at, c.idle_gap_s, c.idle_gap_reason, c.previous_id,
           n.engine_id, n.attribution, n.cluster, n.namespace, n.model, n.pod, n.engine, n.arm,
           n.usage_status, n.total_input, n.cached_input
    from near n
    join chosen c on c.session_id = n.session_id and c.turn_id = n.turn_id
    qualify row_number() over (
        partition by n.session_id, n.turn_id
        order by n.attribution = 'engine' desc, n.start_at, n.observation_key) = 1
),
previous as (
    select n.session_id, n.turn_id as previous_id,
           arg_max(n.engine_id, (n.start_at, n.observation_key))
               filter (where n.attribution = 'engine') as previous_engine_id,
           bool_or(n.attribution = 'pod') as pod_named,
           arg_max(n.history, (n.start_at, n.observation_key))
               filter (where n.history is not null) as history,
           arg_max(n.model, (n.start_at, n.observation_key))
               filter (where n.history is not null) as history_model
    from near n
    join chosen c on c.session_id = n.session_id and c.previous_id = n.turn_id
    group by n.session_id, n.turn_id
),
blocks as (
    select engine_id, min(try_cast(value as bigint)) as block
    from configurations
    where name = 'block_size' and try_cast(value as bigint) > 0
    group by engine_id
    having count(distinct value) = 1
),
compared as (
    select turn_at, idle_gap_s, usage_status = 'measured' as is_measured, total_input, cached_input,
           case when attribution = 'engine' and engine_id = previous_engine_id then 'same'
                when attribution = 'engine' and previous_engine_id is not null then 'another'
                else 'unknown' end as place,
           case when attribution = 'engine' and previous_engine_id is not null then null
                when previous_id is null then 'long_ago'
                when pod_named is null then 'no_request'
                when attribution = 'pool' or (previous_engine_id is null and not pod_named)
                    then 'pool'
                else 'pod' end as why,
           idle_gap_reason is not distinct from 'previous_overlaps' as is_overlapping,
           history is not null and history_model is distinct from model as is_other_model,
           case when history is not null and total_input > 0
                 and history_model is not distinct from model
                 and idle_gap_reason is distinct from 'previous_overlaps'
                then least(history, total_input - 1) end as reach,
           block,
           case when block is null then $block_tokens else block end as used_block
    from asked
    left join previous using (session_id, previous_id)
    left join blocks using (engine_id)
    where ($cluster is null or cluster = $cluster)
      and ($namespace is null or namespace = $namespace)
      and ($model is null or model = $model)
      and ($pod is null or pod = $pod)
      and ($engine is null or engine = $engine)
      and ($arm is null or arm = $arm)
),
priced as (
    select (epoch(turn_at)::bigint // $bin_s) * $bin_s as bin, place, why, idle_gap_s,
           is_measured, is_overlapping, is_other_model, block, total_input, cached_input,
           case when is_measured then (reach // used_block) * used_block end as offered
    from compared
)
select bin, place,
       count(*) as turns,
       count(*) filter (where is_measured) as measured,
       (sum(total_input) filter (where is_measured))::bigint as input_tokens,
       (sum(cached_input) filter (where is_measured))::bigint as cached_tokens,
       count(idle_gap_s) as gaps,
       quantile_cont(idle_gap_s, 0.5) as gap_median_s,
       count(offered) as offers,
       sum(offered)::bigint as offered_tokens,
       (sum(cached_input) filter (where offered is not null))::bigint as delivered_tokens,
       count(*) filter (where cached_input > offered) as above,
       (sum(cached_input - offered) filter (where cached_input > offered))::bigint as above_tokens,
       count(*) filter (where offered is not null and block is null) as assumed_blocks,
       count(*) filter (where is_overlapping) as overlapping,
       count(*) filter (where is_other_model) as other_model,
       count(*) filter (where why = 'pod') as pod_level,
       count(*) filter (where why = 'pool') as pool_level,
       count(*) filter (where why = 'no_request') as no_request,
       count(*) filter (where why = 'long_ago') as long_ago
from priced
group by grouping sets ((place), (bin, place))
order by bin, place

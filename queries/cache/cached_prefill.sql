-- name: prefill_accounts
-- params: span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, instrument text, label text, amount tokens, samples count, resets count
-- metrics: prefill_cached_share, prefill_external_share, prefill_cached_tokens, prefill_external_tokens, prefill_computed_tokens, cached_prompt_tokens, cached_tier_tokens, request_prompt_tokens, request_computed_tokens, request_cached_tokens, prefill_difference, account_share
-- One row per engine, counter and source: increases over the whole window, those across
-- gaps too. The counters are three accounts of the same prompts, each with its own
-- population: sources and tiers count at prefill, request sums when a request ends
-- (`_count`: requests, not tokens). A row with a null amount was seen once.
select engine_id, instrument, label,
       sum(increase) as amount, sum(samples) as samples, sum(resets) as resets
from engine_counters
where minute >= $start and minute < $end and span_s = $span_s
  and instrument in (
      'prompt_tokens_by_source', 'prompt_tokens', 'prompt_tokens_cached',
      'prompt_tokens_cached_by_source', 'generation_tokens', 'request_prompt_tokens_count',
      'request_prompt_tokens_sum', 'request_prefill_kv_computed_tokens_sum')
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id, instrument, label
order by engine_id, instrument, label

-- name: throughput
-- params: bin_s bigint, span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: bin s, instrument text, tokens tokens, observed_s s
-- metrics: prompt_tokens_per_s, generation_tokens_per_s
-- One row per chart bin and counter: tokens seen between scrapes without a gap, and the
-- seconds in which at least one engine was observed, as in `prefill_by_source`.
with minutes as (
    select instrument, minute,
           sum(increase - gap_increase) as tokens,
           max(covered_s) as observed_s
    from engine_counters
    where minute >= $start and minute < $end and span_s = $span_s
      and instrument in ('prompt_tokens', 'generation_tokens')
      and ($cluster is null or cluster = $cluster)
      and ($namespace is null or namespace = $namespace)
      and ($model is null or model_name = $model)
      and ($pod is null or pod = $pod)
      and ($engine is null or engine = $engine)
    group by instrument, minute
)
select (epoch(minute)::bigint // $bin_s) * $bin_s as bin, instrument,
       sum(tokens) as tokens, sum(observed_s) as observed_s
from minutes
group by bin, instrument
order by bin, instrument

-- name: uncached_by_group
-- params: most bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: rank count, groups count, template_version text, task_type text, model text, requests requests, measured requests, input_tokens tokens, cached_tokens tokens, unmeasured_tokens tokens
-- metrics: uncached_tokens, uncached_share, gateway_cached_share
-- One row per template version, task type and model, most uncached tokens first; what
-- comes after the first `most` is one last row, in which `groups` counts them. Tokens are
-- of requests with a measured cached count; unmeasured_tokens are the known input of the
-- others, without those that break a usage contract.
with sums as (
    select template_version, task_type, model,
           count(*) as requests,
           count(*) filter (where usage_status = 'measured') as measured,
           (sum(total_input) filter (where usage_status = 'measured'))::bigint as input_tokens,
           (sum(cached_input) filter (where usage_status = 'measured'))::bigint as cached_tokens,
           (sum(total_input) filter (where usage_status = 'unknown'))::bigint
               as unmeasured_tokens
    from requests
    where start_at >= $start and start_at < $end
      and ($cluster is null or cluster = $cluster)
      and ($namespace is null or namespace = $namespace)
      and ($model is null or model = $model)
      and ($pod is null or pod = $pod)
      and ($engine is null or engine = $engine)
      and ($arm is null or arm = $arm)
    group by template_version, task_type, model
),
ranked as (
    select template_version, task_type, model, requests, measured, input_tokens, cached_tokens,
           unmeasured_tokens,
           least($most + 1, row_number() over (
               order by input_tokens - cached_tokens desc nulls last, requests desc,
                        template_version, task_type, model)) as rank
    from sums
)
select rank, count(*) as groups,
       case when rank <= $most then any_value(template_version) end as template_version,
       case when rank <= $most then any_value(task_type) end as task_type,
       case when rank <= $most then any_value(model) end as model,
       sum(requests)::bigint as requests,
       sum(measured)::bigint as measured,
       sum(input_tokens)::bigint as input_tokens,
       sum(cached_tokens)::bigint as cached_tokens,
       sum(unmeasured_tokens)::bigint as unmeasured_tokens
from ranked
group by rank
order by rank

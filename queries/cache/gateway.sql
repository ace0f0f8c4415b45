-- name: gateway_counters_by_deployment
-- params: span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar
-- returns: cluster text, namespace text, deployment text, model_name text, provider text, requested_models text, input_tokens tokens, cached_tokens tokens, samples count, resets count, covered_s s
-- metrics: gateway_counter_share
-- One row per deployment whose counters a proxy showed in the window: increases summed
-- over proxies. cached_tokens is null where no proxy ever counted a cached token of it.
-- Samples, resets and coverage are those of the input counter, per proxy; of several
-- requested models the best observed one tells them. The cluster and namespace are the
-- proxy's; it knows neither pod nor engine.
with minutes as (
    select cluster, namespace, deployment, model_name, provider, proxy, job, instance, minute,
           list(distinct requested_model) as requested,
           sum(increase) filter (where instrument = 'gateway_input_tokens') as input_tokens,
           sum(increase) filter (where instrument = 'gateway_cached_tokens') as cached_tokens,
           max(samples) filter (where instrument = 'gateway_input_tokens') as samples,
           max(resets) filter (where instrument = 'gateway_input_tokens') as resets,
           max(covered_s) filter (where instrument = 'gateway_input_tokens') as covered_s
    from gateway_counters
    where minute >= $start and minute < $end and span_s = $span_s
      and instrument in ('gateway_input_tokens', 'gateway_cached_tokens')
      and ($cluster is null or cluster = $cluster)
      and ($namespace is null or namespace = $namespace)
      and ($model is null or model_name = $model)
    group by cluster, namespace, deployment, model_name, provider, proxy, job, instance, minute
)
select cluster, namespace, deployment, model_name, provider,
       array_to_string(list_sort(list_distinct(flatten(list(requested)))), ', ')
           as requested_models,
       sum(input_tokens) as input_tokens,
       sum(cached_tokens) as cached_tokens,
       sum(samples) as samples,
       sum(resets) as resets,
       sum(covered_s) as covered_s
from minutes
group by cluster, namespace, deployment, model_name, provider
order by cluster, namespace, deployment, model_name, provider

-- name: gateway_counters_over_time
-- params: bin_s bigint, span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar
-- returns: bin s, input_tokens tokens, cached_tokens tokens, resets count
-- metrics: gateway_counter_share
-- One row per chart bin: increases summed over deployments and proxies. A bin without
-- a row held no scrape of a proxy that counts; resets are counted per deployment.
select (epoch(minute)::bigint // $bin_s) * $bin_s as bin,
       sum(increase) filter (where instrument = 'gateway_input_tokens') as input_tokens,
       sum(increase) filter (where instrument = 'gateway_cached_tokens') as cached_tokens,
       sum(resets) filter (where instrument = 'gateway_input_tokens') as resets
from gateway_counters
where minute >= $start and minute < $end and span_s = $span_s
  and instrument in ('gateway_input_tokens', 'gateway_cached_tokens')
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
group by bin
order by bin

-- name: gateway_proxies
-- params: cluster varchar, namespace varchar, model varchar
-- returns: cluster text, namespace text, proxy text, job text, instance text, deployments count
-- metrics: gateway_counter_share
-- One row per proxy address that ever showed a counter of a deployment in scope, at any
-- time. No row: no LiteLLM counter is exported there.
select cluster, namespace, proxy, job, instance, count(distinct deployment) as deployments
from gateway_series
where true
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
group by cluster, namespace, proxy, job, instance
order by cluster, namespace, proxy, job, instance

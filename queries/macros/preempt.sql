-- Preemption windows, and what requests were exposed to: the rules of
-- core/domain/windows.py for many engines and requests at once, with the numbers of its
-- `Rule` as parameters. Made anew whenever a cache is opened; tests hold both to each other.

-- One row per engine and window of the given period in which the engine was there: its
-- state, for unknown the reason, and the sums it was made from. Windows count from the
-- epoch; window_at is the start. The cost follows the minutes of the period. `late` is how
-- many seconds after the period a gap may end and still tell which windows it reaches into.
create or replace macro preempt_windows(
    from_at, to_at, window_s, fewest, coverage, gap_intervals, read_to, late
) as table
with minutes as (
    select engine_id, (epoch(minute)::bigint // window_s) * window_s as window_at,
           increase, gap_increase, samples, largest_gap_s, first_at, last_at
    from engine_counters
    where minute >= to_timestamp((floor(epoch(from_at))::bigint // window_s) * window_s)
      and minute < to_at + to_seconds(window_s + late) and span_s = 60
      and instrument = 'num_preemptions'
), sums as (
    select engine_id, window_at, sum(increase) as events,
           bool_or(increase - gap_increase > 0) as timed,
           sum(samples)::bigint as samples, max(largest_gap_s) as largest_gap_s,
           min(first_at) as first_at, max(last_at) as last_at
    from minutes
    group by engine_id, window_at
), spaced as (
    select engine_id, window_at, events, timed, samples,
           greatest(largest_gap_s, epoch(lead(first_at) over following) - epoch(last_at)) as apart_s
    from sums
    window following as (partition by engine_id order by window_at)
), lives as (
    select engine_id, epoch(min(first_at)) as first_at,
           case when count(*) = count(gone_at) then epoch(max(gone_at)) end as gone_at,
           min(scrape_interval_s) as interval_s
    from targets
    group by engine_id
), grid as (
    select l.engine_id, w.window_at, l.interval_s
    from lives l
    join (
        select unnest(range(
            (floor(epoch(from_at))::bigint // window_s) * window_s, ceil(epoch(to_at))::bigint, window_s
        )) as window_at
    ) w on w.window_at + window_s > l.first_at
       and (l.gone_at is null or w.window_at <= l.gone_at)
)
select g.engine_id, g.window_at, s.events, s.samples, window_s / g.interval_s as expected,
       s.apart_s,
       case when s.timed then '1'
            when read_to < g.window_at + window_s then 'unknown'
            when s.samples >= fewest
             and (s.apart_s is null or s.apart_s <= gap_intervals * g.interval_s)
             and s.samples * g.interval_s >= coverage * window_s then '0'
            else 'unknown' end as state,
       case when s.timed then null
            when read_to < g.window_at + window_s then 'not_over'
            when s.samples is null then 'no_series'
            when s.samples < fewest then 'few_samples'
            when g.interval_s is null then 'coverage'
            when s.apart_s > gap_intervals * g.interval_s then 'gap'
            when s.samples * g.interval_s < coverage * window_s then 'coverage' end as why
from grid g
left join spaced s on s.engine_id = g.engine_id and s.window_at = g.window_at;

-- One row per request that starts in the period: which windows it overlaps, widened by
-- `tolerance` seconds on both sides, and which engines it may have run on. `place` is a
-- key of those; `whole` tells whether all of it lies in the windows from first to last:
-- not without an end, and not beyond `longest` seconds.
create or replace macro placed_requests(from_at, to_at, window_s, tolerance, longest) as table
select r.*,
       case when attribution = 'engine' then hash(engine_id)
            when attribution = 'pod' then hash(cluster, namespace, pod, engine)
            else hash(cluster, namespace, model, engine, 'pool') end as place,
       floor((epoch(start_at) - tolerance) / window_s)::bigint as first_window,
       greatest(
           floor((epoch(start_at) - tolerance) / window_s)::bigint,
           ceil((least(epoch(case when end_at is null then start_at else end_at end),
                       epoch(start_at) + longest) + tolerance) / window_s)::bigint - 1
       ) as last_window,
       end_at is not null and epoch(end_at) <= epoch(start_at) + longest as whole
from requests r
where start_at >= from_at and start_at < to_at;

-- One row per place and engine that is meant by it: the engine itself, any engine core
-- of the pod, or any engine of the model.
create or replace macro engines_of_places(from_at, to_at, window_s, tolerance, longest) as table
select p.place, e.engine_id
from (
    select distinct place, attribution, engine_id, cluster, namespace, pod, engine,
           case when attribution = 'pool' then model end as model
    from placed_requests(from_at, to_at, window_s, tolerance, longest)
) p
join engines e
  on case when p.attribution = 'engine' then e.engine_id = p.engine_id
          else (p.cluster is null or e.cluster = p.cluster)
           and (p.namespace is null or e.namespace = p.namespace)
           and (p.engine is null or e.engine = p.engine)
           and case when p.attribution = 'pod' then e.pod = p.pod
                    else e.model_name = p.model end
     end;

-- One row per request that starts in the period: 1 if any window of its engines that it
-- overlaps is 1; else unknown if any is unknown or a part of it lies in none; else 0.
create or replace macro exposed_requests(
    from_at, to_at, window_s, fewest, coverage, gap_intervals, read_to, late, tolerance, longest
) as table
with r as materialized (
    select p.* from placed_requests(from_at, to_at, window_s, tolerance, longest) p
), meant as materialized (
    select distinct place, engine_id
    from engines_of_places(from_at, to_at, window_s, tolerance, longest)
), together as materialized (
    select m.place, w.window_at // window_s as n, max(w.state = '1') as one,
           max(w.state = 'unknown') as unsure
    from preempt_windows(
        from_at - to_seconds(tolerance), to_at + to_seconds(longest + tolerance),
        window_s, fewest, coverage, gap_intervals, read_to, late
    ) w
    join meant m on m.engine_id = w.engine_id
    group by m.place, n
), stretches as (
    select place, first_window, last_window,
           unnest(range(first_window, last_window + 1)) as n
    from (select distinct place, first_window, last_window from r)
), states as (
    select s.place, s.first_window, s.last_window, bool_or(t.one) as one,
           bool_or(t.unsure or t.place is null) as unsure
    from stretches s
    left join together t on t.place = s.place and t.n = s.n
    group by s.place, s.first_window, s.last_window
), alone as (
    select place, count(*) as engines from meant group by place
)
select r.* exclude (attribution),
       case when r.attribution = 'pod' and r.engine is not null and a.engines = 1 then 'engine'
            else r.attribution end as attribution,
       case when s.one then '1' when s.unsure or not r.whole then 'unknown' else '0' end as exposure
from r
join states s on s.place = r.place and s.first_window = r.first_window
             and s.last_window = r.last_window
left join alone a on a.place = r.place;

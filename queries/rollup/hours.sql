-- name: roll_up_counter_cells
-- params: path varchar, start timestamptz, end timestamptz
-- returns: none
-- Sums the hours that the counter cells of one batch (a Parquet file at path) touch, from
-- all minute cells of the batch's series. A sum over nothing known stays null.
merge into counter_hours as old using (
    select series_id, time_bucket(interval '1 hour', minute) as minute,
           sum(increase) filter (where not duplicate) as increase,
           sum(gap_increase) filter (where not duplicate) as gap_increase,
           sum(samples) filter (where not duplicate) as samples,
           sum(resets) filter (where not duplicate) as resets,
           sum(covered_s) filter (where not duplicate) as covered_s,
           max(largest_gap_s) filter (where not duplicate) as largest_gap_s,
           min(first_at) filter (where not duplicate) as first_at,
           max(last_at) filter (where not duplicate) as last_at,
           bool_and(duplicate) as duplicate
    from counter_cells
    where minute >= $start and minute < $end
      and series_id in (select series_id from read_parquet($path))
    group by all
) as new
on old.series_id = new.series_id and old.minute = new.minute
   and old.minute >= $start and old.minute < $end
when matched then update set
    increase = new.increase, gap_increase = new.gap_increase, samples = new.samples,
    resets = new.resets, covered_s = new.covered_s, largest_gap_s = new.largest_gap_s,
    first_at = new.first_at, last_at = new.last_at, duplicate = new.duplicate
when not matched then insert by name

-- name: roll_up_bucket_cells
-- params: path varchar, start timestamptz, end timestamptz
-- returns: none
-- The same for histogram buckets.
merge into bucket_hours as old using (
    select series_id, time_bucket(interval '1 hour', minute) as minute,
           sum(increase) filter (where not duplicate) as increase,
           bool_and(duplicate) as duplicate
    from bucket_cells
    where minute >= $start and minute < $end
      and series_id in (select series_id from read_parquet($path))
    group by all
) as new
on old.series_id = new.series_id and old.minute = new.minute
   and old.minute >= $start and old.minute < $end
when matched then update set increase = new.increase, duplicate = new.duplicate
when not matched then insert by name

-- name: roll_up_gauge_cells
-- params: path varchar, start timestamptz, end timestamptz
-- returns: none
-- The same for gauges: sums, extremes and the newest value.
merge into gauge_hours as old using (
    select series_id, time_bucket(interval '1 hour', minute) as minute,
           sum(samples) filter (where not duplicate) as samples,
           sum(value_sum) filter (where not duplicate) as value_sum,
           min(value_min) filter (where not duplicate) as value_min,
           max(value_max) filter (where not duplicate) as value_max,
           arg_max(value_last, last_at) filter (where not duplicate) as value_last,
           max(last_at) filter (where not duplicate) as last_at,
           bool_and(duplicate) as duplicate
    from gauge_cells
    where minute >= $start and minute < $end
      and series_id in (select series_id from read_parquet($path))
    group by all
) as new
on old.series_id = new.series_id and old.minute = new.minute
   and old.minute >= $start and old.minute < $end
when matched then update set
    samples = new.samples, value_sum = new.value_sum, value_min = new.value_min,
    value_max = new.value_max, value_last = new.value_last, last_at = new.last_at,
    duplicate = new.duplicate
when not matched then insert by name

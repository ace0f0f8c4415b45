-- name: roll_up_observations
-- params: path varchar
-- returns: none
-- Turns of the sessions that a batch (a Parquet file at path) touches, from all their
-- observations. A turn is one turn_id of a session (its trace, unless the exporter
-- names another key); it starts with its first observation and ends with its last one.
-- turn_index counts from 0 by start, ties by id. start_gap_s is start minus the previous
-- turn's start. idle_gap_s is start minus the previous turn's end; it is null, with the
-- reason, for the first turn (first_turn), when the previous turn has an observation
-- without an end (previous_unfinished), or ends after this one began
-- (previous_overlaps). Roots that Langfuse made up have no times of their own and are
-- left out. Observations without a session make no turn; a turn whose observations have
-- all moved to another session goes.
merge into turns as old using (
    with touched as (
        select distinct session_id
        from observations
        where observation_key in (select observation_key from read_parquet($path))
        union
        select session_id from turns
        where turn_id in (select turn_id from read_parquet($path))
    ),
    extents as (
        select session_id, turn_id, min(start_at) as start_at,
               case when count(*) = count(end_at) then max(end_at) end as end_at,
               count(*) as observations
        from observations
        where not synthetic_root and session_id in (select session_id from touched)
        group by session_id, turn_id
    ),
    ordered as (
        select session_id, turn_id, start_at, end_at, observations,
               row_number() over by_start - 1 as turn_index,
               lag(start_at) over by_start as previous_start,
               lag(end_at) over by_start as previous_end
        from extents
        window by_start as (partition by session_id order by start_at, turn_id)
    )
    select session_id, turn_id, turn_index, start_at, end_at,
           epoch(start_at) - epoch(previous_start) as start_gap_s,
           case when previous_end <= start_at then epoch(start_at) - epoch(previous_end) end
               as idle_gap_s,
           case when turn_index = 0 then 'first_turn'
                when previous_end is null then 'previous_unfinished'
                when previous_end > start_at then 'previous_overlaps' end as idle_gap_reason,
           observations
    from ordered
    union all
    select session_id, turn_id, turn_index, start_at, end_at, null, null, null, 0
    from turns
    where session_id in (select session_id from touched)
      and (session_id, turn_id) not in (select (session_id, turn_id) from extents)
) as new
on old.session_id = new.session_id and old.turn_id = new.turn_id
when matched and new.observations = 0 then delete
when matched then update set
    turn_index = new.turn_index, start_at = new.start_at, end_at = new.end_at,
    start_gap_s = new.start_gap_s, idle_gap_s = new.idle_gap_s,
    idle_gap_reason = new.idle_gap_reason, observations = new.observations
when not matched then insert by name

-- name: roll_up_score_scans
-- params: path varchar
-- returns: none
-- Marks scores as deleted that a whole scan of their time did not show. A score that
-- shows again is merged after this and loses the mark.
update scores set deleted_at = scan.scanned_at
from (select start_at, end_at, scanned_at from read_parquet($path)) as scan
where scores.scored_at >= scan.start_at and scores.scored_at < scan.end_at
  and scores.seen_at < scan.scanned_at and scores.deleted_at is null

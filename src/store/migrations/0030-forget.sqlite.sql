-- What people are called in events can be removed when their data is; what was done, by which id, when and to what cannot.
DROP TRIGGER event_no_update;
CREATE TRIGGER event_no_update BEFORE UPDATE OF id, at, org_id, actor_kind, actor_id, operator, what, subject ON event
  BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

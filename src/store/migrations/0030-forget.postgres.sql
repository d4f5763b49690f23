-- What people are called in events can be removed when their data is; what was done, by which id, when and to what cannot.
DROP TRIGGER event_no_change ON event;
CREATE TRIGGER event_no_delete BEFORE DELETE ON event
  FOR EACH ROW EXECUTE FUNCTION refuse_event_change();
CREATE TRIGGER event_no_update BEFORE UPDATE OF id, at, org_id, actor_kind, actor_id, operator, what, subject ON event
  FOR EACH ROW EXECUTE FUNCTION refuse_event_change();

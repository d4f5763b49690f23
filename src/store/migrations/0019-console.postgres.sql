-- Events are append-only.
CREATE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql
  AS $$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$;
CREATE TRIGGER event_no_change BEFORE UPDATE OR DELETE ON event
  FOR EACH ROW EXECUTE FUNCTION refuse_event_change();
CREATE TRIGGER event_no_truncate BEFORE TRUNCATE ON event
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_event_change();

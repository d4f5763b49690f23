-- The ledger is append-only.
CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql
  AS $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$;
CREATE TRIGGER transfer_no_change BEFORE UPDATE OR DELETE ON transfer
  FOR EACH ROW EXECUTE FUNCTION refuse_ledger_change();
CREATE TRIGGER transfer_no_truncate BEFORE TRUNCATE ON transfer
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();

-- The state of a posting that was written as a note alone, as early versions did. A later migration drops the trigger.
CREATE FUNCTION posting_of_older_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.kind = 'adjust' THEN NEW.of_topup := substr(NEW.note, 4); ELSE NEW.settled := NEW.note; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER transfer_of_older_version BEFORE INSERT ON transfer FOR EACH ROW
  WHEN (NEW.note IS NOT NULL AND NEW.settled IS NULL AND NEW.of_topup IS NULL
    AND (NEW.kind IN ('usage', 'writeoff') AND NEW.note IN ('late', 'recovered')
      OR NEW.kind = 'adjust' AND NEW.note LIKE 'of stripe:%'))
  EXECUTE FUNCTION posting_of_older_version();

-- Room for updates in place: these rows change with every commit or lease.
ALTER TABLE lease SET (fillfactor = 50);
ALTER TABLE budget SET (fillfactor = 70);
ALTER TABLE inflight SET (fillfactor = 70);

-- Events are append-only. What people are called in them can be removed when their data is; what was done, by which id,
-- when and to what cannot.
CREATE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql
  AS $$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$;
CREATE TRIGGER event_no_truncate BEFORE TRUNCATE ON event
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_event_change();
CREATE TRIGGER event_no_delete BEFORE DELETE ON event
  FOR EACH ROW EXECUTE FUNCTION refuse_event_change();
CREATE TRIGGER event_no_update BEFORE UPDATE OF id, at, org_id, actor_kind, actor_id, operator, what, subject ON event
  FOR EACH ROW EXECUTE FUNCTION refuse_event_change();

-- Details of calls lie in parts, by month of the call's id, which begins with its time: a month that is over goes by
-- dropping its part. Here the table becomes the one part for all ids; servers make the months.
ALTER TABLE usage_detail RENAME TO usage_detail_rest;
CREATE TABLE usage_detail (LIKE usage_detail_rest INCLUDING ALL) PARTITION BY RANGE (call_id);
ALTER TABLE usage_detail ATTACH PARTITION usage_detail_rest DEFAULT;

-- Triggers keep the sums of months equal to those of days. Each statement that changes days changes each of their months once.
CREATE FUNCTION month_of_day(day BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE
  AS $$ SELECT CAST(extract(epoch FROM date_trunc('month', timestamp 'epoch' + day * interval '1 millisecond')) AS BIGINT) * 1000 $$;

CREATE FUNCTION roll_up_key_month_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO roll_up_key_month AS m (key_id, month, requests, input_tokens, output_tokens, cached_tokens, cache_write_tokens, cache_saved, amount)
    SELECT d.key_id, month_of_day(d.day) AS month,
      sum(d.requests) AS requests, sum(d.input_tokens) AS input_tokens, sum(d.output_tokens) AS output_tokens,
      sum(d.cached_tokens) AS cached_tokens, sum(d.cache_write_tokens) AS cache_write_tokens, sum(d.cache_saved) AS cache_saved,
      sum(d.amount) AS amount
    FROM fresh d GROUP BY 1, 2
  ON CONFLICT (key_id, month) DO UPDATE SET
    requests = m.requests + excluded.requests, input_tokens = m.input_tokens + excluded.input_tokens,
    output_tokens = m.output_tokens + excluded.output_tokens, cached_tokens = m.cached_tokens + excluded.cached_tokens,
    cache_write_tokens = m.cache_write_tokens + excluded.cache_write_tokens, cache_saved = m.cache_saved + excluded.cache_saved,
    amount = m.amount + excluded.amount;
  RETURN NULL;
END $$;
CREATE FUNCTION roll_up_key_month_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE roll_up_key_month m SET
    requests = m.requests + s.requests, input_tokens = m.input_tokens + s.input_tokens, output_tokens = m.output_tokens + s.output_tokens,
    cached_tokens = m.cached_tokens + s.cached_tokens, cache_write_tokens = m.cache_write_tokens + s.cache_write_tokens, cache_saved = m.cache_saved + s.cache_saved,
    amount = m.amount + s.amount
  FROM (
    SELECT d.key_id, month_of_day(d.day) AS month,
      sum(d.requests) AS requests, sum(d.input_tokens) AS input_tokens, sum(d.output_tokens) AS output_tokens,
      sum(d.cached_tokens) AS cached_tokens, sum(d.cache_write_tokens) AS cache_write_tokens, sum(d.cache_saved) AS cache_saved,
      sum(d.amount) AS amount
    FROM (
      SELECT key_id, day, requests, input_tokens, output_tokens, cached_tokens, cache_write_tokens, cache_saved, amount FROM fresh
      UNION ALL SELECT key_id, day, -requests, -input_tokens, -output_tokens, -cached_tokens, -cache_write_tokens, -cache_saved, -amount FROM gone) d GROUP BY 1, 2) s
  WHERE m.key_id = s.key_id AND m.month = s.month;
  RETURN NULL;
END $$;
CREATE FUNCTION roll_up_key_month_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE roll_up_key_month m SET
    requests = m.requests - s.requests, input_tokens = m.input_tokens - s.input_tokens, output_tokens = m.output_tokens - s.output_tokens,
    cached_tokens = m.cached_tokens - s.cached_tokens, cache_write_tokens = m.cache_write_tokens - s.cache_write_tokens, cache_saved = m.cache_saved - s.cache_saved,
    amount = m.amount - s.amount
  FROM (
    SELECT d.key_id, month_of_day(d.day) AS month,
      sum(d.requests) AS requests, sum(d.input_tokens) AS input_tokens, sum(d.output_tokens) AS output_tokens,
      sum(d.cached_tokens) AS cached_tokens, sum(d.cache_write_tokens) AS cache_write_tokens, sum(d.cache_saved) AS cache_saved,
      sum(d.amount) AS amount
    FROM gone d GROUP BY 1, 2) s
  WHERE m.key_id = s.key_id AND m.month = s.month;
  RETURN NULL;
END $$;
CREATE TRIGGER roll_up_key_month_insert AFTER INSERT ON roll_up_key REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION roll_up_key_month_insert();
CREATE TRIGGER roll_up_key_month_update AFTER UPDATE ON roll_up_key REFERENCING OLD TABLE AS gone NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION roll_up_key_month_update();
CREATE TRIGGER roll_up_key_month_delete AFTER DELETE ON roll_up_key REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION roll_up_key_month_delete();

CREATE FUNCTION roll_up_model_month_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO roll_up_model_month AS m (key_id, month, model, requests, input_tokens, output_tokens, cached_tokens, cache_write_tokens, cache_saved, amount)
    SELECT d.key_id, month_of_day(d.day) AS month, d.model,
      sum(d.requests) AS requests, sum(d.input_tokens) AS input_tokens, sum(d.output_tokens) AS output_tokens,
      sum(d.cached_tokens) AS cached_tokens, sum(d.cache_write_tokens) AS cache_write_tokens, sum(d.cache_saved) AS cache_saved,
      sum(d.amount) AS amount
    FROM fresh d GROUP BY 1, 2, 3
  ON CONFLICT (key_id, month, model) DO UPDATE SET
    requests = m.requests + excluded.requests, input_tokens = m.input_tokens + excluded.input_tokens,
    output_tokens = m.output_tokens + excluded.output_tokens, cached_tokens = m.cached_tokens + excluded.cached_tokens,
    cache_write_tokens = m.cache_write_tokens + excluded.cache_write_tokens, cache_saved = m.cache_saved + excluded.cache_saved,
    amount = m.amount + excluded.amount;
  RETURN NULL;
END $$;
CREATE FUNCTION roll_up_model_month_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE roll_up_model_month m SET
    requests = m.requests + s.requests, input_tokens = m.input_tokens + s.input_tokens, output_tokens = m.output_tokens + s.output_tokens,
    cached_tokens = m.cached_tokens + s.cached_tokens, cache_write_tokens = m.cache_write_tokens + s.cache_write_tokens, cache_saved = m.cache_saved + s.cache_saved,
    amount = m.amount + s.amount
  FROM (
    SELECT d.key_id, month_of_day(d.day) AS month, d.model,
      sum(d.requests) AS requests, sum(d.input_tokens) AS input_tokens, sum(d.output_tokens) AS output_tokens,
      sum(d.cached_tokens) AS cached_tokens, sum(d.cache_write_tokens) AS cache_write_tokens, sum(d.cache_saved) AS cache_saved,
      sum(d.amount) AS amount
    FROM (
      SELECT key_id, day, model, requests, input_tokens, output_tokens, cached_tokens, cache_write_tokens, cache_saved, amount FROM fresh
      UNION ALL SELECT key_id, day, model, -requests, -input_tokens, -output_tokens, -cached_tokens, -cache_write_tokens, -cache_saved, -amount FROM gone) d GROUP BY 1, 2, 3) s
  WHERE m.key_id = s.key_id AND m.month = s.month AND m.model = s.model;
  RETURN NULL;
END $$;
CREATE FUNCTION roll_up_model_month_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE roll_up_model_month m SET
    requests = m.requests - s.requests, input_tokens = m.input_tokens - s.input_tokens, output_tokens = m.output_tokens - s.output_tokens,
    cached_tokens = m.cached_tokens - s.cached_tokens, cache_write_tokens = m.cache_write_tokens - s.cache_write_tokens, cache_saved = m.cache_saved - s.cache_saved,
    amount = m.amount - s.amount
  FROM (
    SELECT d.key_id, month_of_day(d.day) AS month, d.model,
      sum(d.requests) AS requests, sum(d.input_tokens) AS input_tokens, sum(d.output_tokens) AS output_tokens,
      sum(d.cached_tokens) AS cached_tokens, sum(d.cache_write_tokens) AS cache_write_tokens, sum(d.cache_saved) AS cache_saved,
      sum(d.amount) AS amount
    FROM gone d GROUP BY 1, 2, 3) s
  WHERE m.key_id = s.key_id AND m.month = s.month AND m.model = s.model;
  RETURN NULL;
END $$;
CREATE TRIGGER roll_up_model_month_insert AFTER INSERT ON roll_up_day REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION roll_up_model_month_insert();
CREATE TRIGGER roll_up_model_month_update AFTER UPDATE ON roll_up_day REFERENCING OLD TABLE AS gone NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION roll_up_model_month_update();
CREATE TRIGGER roll_up_model_month_delete AFTER DELETE ON roll_up_day REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION roll_up_model_month_delete();

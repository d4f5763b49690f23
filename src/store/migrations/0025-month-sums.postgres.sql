-- Triggers, so that a process of the version before, which knows no months, keeps them too while it is replaced. Each statement
-- that changes days changes each of their months once.
CREATE FUNCTION month_of_day(day BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE
  AS $$ SELECT CAST(extract(epoch FROM date_trunc('month', timestamp 'epoch' + day * interval '1 millisecond')) AS BIGINT) * 1000 $$;

CREATE FUNCTION roll_up_key_month_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO roll_up_key_month AS m (key_id, month, requests, input_tokens, output_tokens, amount)
    SELECT d.key_id, month_of_day(d.day) AS month,
      sum(d.requests) AS requests, sum(d.input_tokens) AS input_tokens,
      sum(d.output_tokens) AS output_tokens, sum(d.amount) AS amount
    FROM fresh d GROUP BY 1, 2
  ON CONFLICT (key_id, month) DO UPDATE SET
    requests = m.requests + excluded.requests, input_tokens = m.input_tokens + excluded.input_tokens,
    output_tokens = m.output_tokens + excluded.output_tokens, amount = m.amount + excluded.amount;
  RETURN NULL;
END $$;
CREATE FUNCTION roll_up_key_month_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE roll_up_key_month m SET
    requests = m.requests + s.requests, input_tokens = m.input_tokens + s.input_tokens,
    output_tokens = m.output_tokens + s.output_tokens, amount = m.amount + s.amount
  FROM (
    SELECT d.key_id, month_of_day(d.day) AS month,
      sum(d.requests) AS requests, sum(d.input_tokens) AS input_tokens,
      sum(d.output_tokens) AS output_tokens, sum(d.amount) AS amount
    FROM (
      SELECT key_id, day, requests, input_tokens, output_tokens, amount FROM fresh
      UNION ALL SELECT key_id, day, -requests, -input_tokens, -output_tokens, -amount FROM gone) d GROUP BY 1, 2) s
  WHERE m.key_id = s.key_id AND m.month = s.month;
  RETURN NULL;
END $$;
CREATE FUNCTION roll_up_key_month_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE roll_up_key_month m SET
    requests = m.requests - s.requests, input_tokens = m.input_tokens - s.input_tokens,
    output_tokens = m.output_tokens - s.output_tokens, amount = m.amount - s.amount
  FROM (
    SELECT d.key_id, month_of_day(d.day) AS month,
      sum(d.requests) AS requests, sum(d.input_tokens) AS input_tokens,
      sum(d.output_tokens) AS output_tokens, sum(d.amount) AS amount
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
-- After the triggers: nobody else changes days from then on until this is done.
INSERT INTO roll_up_key_month (key_id, month, requests, input_tokens, output_tokens, amount)
SELECT key_id, month_of_day(day), sum(requests), sum(input_tokens), sum(output_tokens), sum(amount)
FROM roll_up_key GROUP BY 1, 2;

CREATE FUNCTION roll_up_model_month_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO roll_up_model_month AS m (key_id, month, model, requests, input_tokens, output_tokens, amount)
    SELECT d.key_id, month_of_day(d.day) AS month, d.model,
      sum(d.requests) AS requests, sum(d.input_tokens) AS input_tokens,
      sum(d.output_tokens) AS output_tokens, sum(d.amount) AS amount
    FROM fresh d GROUP BY 1, 2, 3
  ON CONFLICT (key_id, month, model) DO UPDATE SET
    requests = m.requests + excluded.requests, input_tokens = m.input_tokens + excluded.input_tokens,
    output_tokens = m.output_tokens + excluded.output_tokens, amount = m.amount + excluded.amount;
  RETURN NULL;
END $$;
CREATE FUNCTION roll_up_model_month_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE roll_up_model_month m SET
    requests = m.requests + s.requests, input_tokens = m.input_tokens + s.input_tokens,
    output_tokens = m.output_tokens + s.output_tokens, amount = m.amount + s.amount
  FROM (
    SELECT d.key_id, month_of_day(d.day) AS month, d.model,
      sum(d.requests) AS requests, sum(d.input_tokens) AS input_tokens,
      sum(d.output_tokens) AS output_tokens, sum(d.amount) AS amount
    FROM (
      SELECT key_id, day, model, requests, input_tokens, output_tokens, amount FROM fresh
      UNION ALL SELECT key_id, day, model, -requests, -input_tokens, -output_tokens, -amount FROM gone) d GROUP BY 1, 2, 3) s
  WHERE m.key_id = s.key_id AND m.month = s.month AND m.model = s.model;
  RETURN NULL;
END $$;
CREATE FUNCTION roll_up_model_month_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE roll_up_model_month m SET
    requests = m.requests - s.requests, input_tokens = m.input_tokens - s.input_tokens,
    output_tokens = m.output_tokens - s.output_tokens, amount = m.amount - s.amount
  FROM (
    SELECT d.key_id, month_of_day(d.day) AS month, d.model,
      sum(d.requests) AS requests, sum(d.input_tokens) AS input_tokens,
      sum(d.output_tokens) AS output_tokens, sum(d.amount) AS amount
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
-- After the triggers: nobody else changes days from then on until this is done.
INSERT INTO roll_up_model_month (key_id, month, model, requests, input_tokens, output_tokens, amount)
SELECT key_id, month_of_day(day), model, sum(requests), sum(input_tokens), sum(output_tokens), sum(amount)
FROM roll_up_day GROUP BY 1, 2, 3;

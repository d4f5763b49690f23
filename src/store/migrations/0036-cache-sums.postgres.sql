-- The triggers of months, with the columns of caches.
CREATE OR REPLACE FUNCTION roll_up_key_month_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
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
CREATE OR REPLACE FUNCTION roll_up_key_month_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
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
CREATE OR REPLACE FUNCTION roll_up_key_month_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
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
CREATE OR REPLACE FUNCTION roll_up_model_month_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
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
CREATE OR REPLACE FUNCTION roll_up_model_month_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
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
CREATE OR REPLACE FUNCTION roll_up_model_month_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
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

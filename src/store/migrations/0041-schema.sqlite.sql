-- The ledger is append-only.
CREATE TRIGGER transfer_no_update BEFORE UPDATE ON transfer BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER transfer_no_delete BEFORE DELETE ON transfer BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

-- Events are append-only. What people are called in them can be removed when their data is; what was done, by which id,
-- when and to what cannot.
CREATE TRIGGER event_no_delete BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER event_no_update BEFORE UPDATE OF id, at, org_id, actor_kind, actor_id, operator, what, subject ON event
  BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

-- Triggers keep the sums of months equal to those of days.
CREATE TRIGGER roll_up_key_month_insert AFTER INSERT ON roll_up_key BEGIN
  INSERT INTO roll_up_key_month (key_id, month, requests, input_tokens, output_tokens, cached_tokens, cache_write_tokens, cache_saved, amount)
  VALUES (NEW.key_id, unixepoch(NEW.day / 1000, 'unixepoch', 'start of month') * 1000,
    NEW.requests, NEW.input_tokens, NEW.output_tokens, NEW.cached_tokens, NEW.cache_write_tokens, NEW.cache_saved, NEW.amount)
  ON CONFLICT (key_id, month) DO UPDATE SET
    requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens, cached_tokens = cached_tokens + excluded.cached_tokens,
    cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, cache_saved = cache_saved + excluded.cache_saved,
    amount = amount + excluded.amount;
END;
CREATE TRIGGER roll_up_key_month_update AFTER UPDATE ON roll_up_key BEGIN
  UPDATE roll_up_key_month SET
    requests = requests + NEW.requests - OLD.requests, input_tokens = input_tokens + NEW.input_tokens - OLD.input_tokens,
    output_tokens = output_tokens + NEW.output_tokens - OLD.output_tokens, cached_tokens = cached_tokens + NEW.cached_tokens - OLD.cached_tokens,
    cache_write_tokens = cache_write_tokens + NEW.cache_write_tokens - OLD.cache_write_tokens, cache_saved = cache_saved + NEW.cache_saved - OLD.cache_saved,
    amount = amount + NEW.amount - OLD.amount
  WHERE key_id = NEW.key_id AND month = unixepoch(NEW.day / 1000, 'unixepoch', 'start of month') * 1000;
END;
CREATE TRIGGER roll_up_key_month_delete AFTER DELETE ON roll_up_key BEGIN
  UPDATE roll_up_key_month SET
    requests = requests - OLD.requests, input_tokens = input_tokens - OLD.input_tokens,
    output_tokens = output_tokens - OLD.output_tokens, cached_tokens = cached_tokens - OLD.cached_tokens,
    cache_write_tokens = cache_write_tokens - OLD.cache_write_tokens, cache_saved = cache_saved - OLD.cache_saved,
    amount = amount - OLD.amount
  WHERE key_id = OLD.key_id AND month = unixepoch(OLD.day / 1000, 'unixepoch', 'start of month') * 1000;
END;
CREATE TRIGGER roll_up_model_month_insert AFTER INSERT ON roll_up_day BEGIN
  INSERT INTO roll_up_model_month (key_id, month, model, requests, input_tokens, output_tokens, cached_tokens, cache_write_tokens, cache_saved, amount)
  VALUES (NEW.key_id, unixepoch(NEW.day / 1000, 'unixepoch', 'start of month') * 1000, NEW.model,
    NEW.requests, NEW.input_tokens, NEW.output_tokens, NEW.cached_tokens, NEW.cache_write_tokens, NEW.cache_saved, NEW.amount)
  ON CONFLICT (key_id, month, model) DO UPDATE SET
    requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens, cached_tokens = cached_tokens + excluded.cached_tokens,
    cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, cache_saved = cache_saved + excluded.cache_saved,
    amount = amount + excluded.amount;
END;
CREATE TRIGGER roll_up_model_month_update AFTER UPDATE ON roll_up_day BEGIN
  UPDATE roll_up_model_month SET
    requests = requests + NEW.requests - OLD.requests, input_tokens = input_tokens + NEW.input_tokens - OLD.input_tokens,
    output_tokens = output_tokens + NEW.output_tokens - OLD.output_tokens, cached_tokens = cached_tokens + NEW.cached_tokens - OLD.cached_tokens,
    cache_write_tokens = cache_write_tokens + NEW.cache_write_tokens - OLD.cache_write_tokens, cache_saved = cache_saved + NEW.cache_saved - OLD.cache_saved,
    amount = amount + NEW.amount - OLD.amount
  WHERE key_id = NEW.key_id AND month = unixepoch(NEW.day / 1000, 'unixepoch', 'start of month') * 1000 AND model = NEW.model;
END;
CREATE TRIGGER roll_up_model_month_delete AFTER DELETE ON roll_up_day BEGIN
  UPDATE roll_up_model_month SET
    requests = requests - OLD.requests, input_tokens = input_tokens - OLD.input_tokens,
    output_tokens = output_tokens - OLD.output_tokens, cached_tokens = cached_tokens - OLD.cached_tokens,
    cache_write_tokens = cache_write_tokens - OLD.cache_write_tokens, cache_saved = cache_saved - OLD.cache_saved,
    amount = amount - OLD.amount
  WHERE key_id = OLD.key_id AND month = unixepoch(OLD.day / 1000, 'unixepoch', 'start of month') * 1000 AND model = OLD.model;
END;

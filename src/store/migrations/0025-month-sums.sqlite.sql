-- Triggers, so that a process of the version before, which knows no months, keeps them too while it is replaced.

CREATE TRIGGER roll_up_key_month_insert AFTER INSERT ON roll_up_key BEGIN
  INSERT INTO roll_up_key_month (key_id, month, requests, input_tokens, output_tokens, amount)
  VALUES (NEW.key_id, unixepoch(NEW.day / 1000, 'unixepoch', 'start of month') * 1000,
    NEW.requests, NEW.input_tokens, NEW.output_tokens, NEW.amount)
  ON CONFLICT (key_id, month) DO UPDATE SET
    requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens, amount = amount + excluded.amount;
END;
CREATE TRIGGER roll_up_key_month_update AFTER UPDATE ON roll_up_key BEGIN
  UPDATE roll_up_key_month SET
    requests = requests + NEW.requests - OLD.requests, input_tokens = input_tokens + NEW.input_tokens - OLD.input_tokens,
    output_tokens = output_tokens + NEW.output_tokens - OLD.output_tokens, amount = amount + NEW.amount - OLD.amount
  WHERE key_id = NEW.key_id AND month = unixepoch(NEW.day / 1000, 'unixepoch', 'start of month') * 1000;
END;
CREATE TRIGGER roll_up_key_month_delete AFTER DELETE ON roll_up_key BEGIN
  UPDATE roll_up_key_month SET
    requests = requests - OLD.requests, input_tokens = input_tokens - OLD.input_tokens,
    output_tokens = output_tokens - OLD.output_tokens, amount = amount - OLD.amount
  WHERE key_id = OLD.key_id AND month = unixepoch(OLD.day / 1000, 'unixepoch', 'start of month') * 1000;
END;
INSERT INTO roll_up_key_month (key_id, month, requests, input_tokens, output_tokens, amount)
SELECT key_id, unixepoch(day / 1000, 'unixepoch', 'start of month') * 1000, sum(requests), sum(input_tokens), sum(output_tokens), sum(amount)
FROM roll_up_key GROUP BY 1, 2;

CREATE TRIGGER roll_up_model_month_insert AFTER INSERT ON roll_up_day BEGIN
  INSERT INTO roll_up_model_month (key_id, month, model, requests, input_tokens, output_tokens, amount)
  VALUES (NEW.key_id, unixepoch(NEW.day / 1000, 'unixepoch', 'start of month') * 1000, NEW.model,
    NEW.requests, NEW.input_tokens, NEW.output_tokens, NEW.amount)
  ON CONFLICT (key_id, month, model) DO UPDATE SET
    requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens, amount = amount + excluded.amount;
END;
CREATE TRIGGER roll_up_model_month_update AFTER UPDATE ON roll_up_day BEGIN
  UPDATE roll_up_model_month SET
    requests = requests + NEW.requests - OLD.requests, input_tokens = input_tokens + NEW.input_tokens - OLD.input_tokens,
    output_tokens = output_tokens + NEW.output_tokens - OLD.output_tokens, amount = amount + NEW.amount - OLD.amount
  WHERE key_id = NEW.key_id AND month = unixepoch(NEW.day / 1000, 'unixepoch', 'start of month') * 1000 AND model = NEW.model;
END;
CREATE TRIGGER roll_up_model_month_delete AFTER DELETE ON roll_up_day BEGIN
  UPDATE roll_up_model_month SET
    requests = requests - OLD.requests, input_tokens = input_tokens - OLD.input_tokens,
    output_tokens = output_tokens - OLD.output_tokens, amount = amount - OLD.amount
  WHERE key_id = OLD.key_id AND month = unixepoch(OLD.day / 1000, 'unixepoch', 'start of month') * 1000 AND model = OLD.model;
END;
INSERT INTO roll_up_model_month (key_id, month, model, requests, input_tokens, output_tokens, amount)
SELECT key_id, unixepoch(day / 1000, 'unixepoch', 'start of month') * 1000, model, sum(requests), sum(input_tokens), sum(output_tokens), sum(amount)
FROM roll_up_day GROUP BY 1, 2, 3;

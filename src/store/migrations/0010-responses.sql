-- Responses that their callers asked to keep, each of one key alone: what was asked since the one before, and what was said.
CREATE TABLE kept_response (
  key_id      TEXT NOT NULL REFERENCES api_key (id),
  id          TEXT NOT NULL,
  previous_id TEXT,
  -- The items of the request as it named them, and the response without its output; both as JSON.
  input       TEXT NOT NULL,
  body        TEXT NOT NULL,
  bytes       BIGINT NOT NULL,
  expires_at  BIGINT NOT NULL,
  PRIMARY KEY (key_id, id)
);
CREATE INDEX kept_response_expiry ON kept_response (expires_at);

-- The items of the output, which later requests may name.
CREATE TABLE kept_item (
  key_id      TEXT NOT NULL,
  response_id TEXT NOT NULL,
  place       BIGINT NOT NULL,
  id          TEXT NOT NULL,
  body        TEXT NOT NULL,
  PRIMARY KEY (key_id, response_id, place),
  FOREIGN KEY (key_id, response_id) REFERENCES kept_response (key_id, id) ON DELETE CASCADE
);
CREATE INDEX kept_item_id ON kept_item (key_id, id);

-- What was written for a key since its responses were last cut down to their bound: no less than what it has.
CREATE TABLE kept_size (
  key_id TEXT PRIMARY KEY,
  bytes  BIGINT NOT NULL
);

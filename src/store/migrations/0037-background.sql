-- Responses that are made while nobody waits for them. Their rows are there from the beginning, and end once.
-- 'open' while it is made, 'ended' if it can be read but not continued; null for those that others may continue.
ALTER TABLE kept_response ADD COLUMN state TEXT;
-- The process that makes it, and whether somebody asked it to stop.
ALTER TABLE kept_response ADD COLUMN owner TEXT;
ALTER TABLE kept_response ADD COLUMN cancel BIGINT NOT NULL DEFAULT 0;
CREATE INDEX kept_response_open ON kept_response (owner) WHERE state = 'open';

-- The events of their streams, many in a row: one JSON text a line, numbered from `place`.
CREATE TABLE kept_event (
  key_id      TEXT NOT NULL,
  response_id TEXT NOT NULL,
  place       BIGINT NOT NULL,
  count       BIGINT NOT NULL,
  body        TEXT NOT NULL,
  PRIMARY KEY (key_id, response_id, place),
  FOREIGN KEY (key_id, response_id) REFERENCES kept_response (key_id, id) ON DELETE CASCADE
);

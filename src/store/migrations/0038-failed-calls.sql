-- Calls of known keys that were refused or failed: without them nobody sees why a customer's calls end.
-- Runs unchanged on SQLite and PostgreSQL.

-- One row a call, never with content. `detail` is JSON: times, the limit that bound, the attempts at vendors.
CREATE TABLE failed_call (
  call_id TEXT PRIMARY KEY,
  org_id  TEXT NOT NULL,
  key_id  TEXT NOT NULL,
  at      BIGINT NOT NULL,
  model   TEXT,
  vendor  TEXT,
  code    TEXT NOT NULL,
  status  BIGINT NOT NULL,
  detail  TEXT NOT NULL
) /*: without rowid */;
CREATE INDEX failed_call_key ON failed_call (key_id, at);
-- The newest of an organisation with thousands of keys are one look.
CREATE INDEX failed_call_org ON failed_call (org_id, at);

-- How many there were by key, UTC day and code. Rows beyond the budget of such a slot are only counted here.
CREATE TABLE failed_day (
  slot   TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  day    BIGINT NOT NULL,
  code   TEXT NOT NULL,
  calls  BIGINT NOT NULL
) /*: without rowid */;
CREATE INDEX failed_day_org ON failed_day (org_id, day);

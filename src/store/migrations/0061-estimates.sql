-- How much of what a counter has used is estimated: what vendors bill organisations for their own keys, by the list price. Runs
-- unchanged on SQLite and PostgreSQL.
ALTER TABLE budget ADD COLUMN estimated BIGINT NOT NULL DEFAULT 0;

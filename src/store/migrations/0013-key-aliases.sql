-- A key's own names for models, as a JSON object of texts; null where it has none.
-- Runs unchanged on SQLite and PostgreSQL.

ALTER TABLE api_key ADD COLUMN aliases TEXT;

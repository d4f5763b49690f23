-- Small results lie in their rows: a file of its own costs more than all else of such a call.
-- Runs unchanged on SQLite and PostgreSQL.

ALTER TABLE asset ADD COLUMN body BYTEA;

-- Which secret the hash of a machine's credential was made by, as for keys; unknown for those that there are.
-- Runs unchanged on SQLite and PostgreSQL.

ALTER TABLE machine ADD COLUMN hashed_by TEXT;

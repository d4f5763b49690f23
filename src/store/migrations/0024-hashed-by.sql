-- Which secret the hash of a key was made by, so that a server whose secret changes can tell what still hangs on the old one.
-- Runs unchanged on SQLite and PostgreSQL.

ALTER TABLE api_key ADD COLUMN hashed_by TEXT;

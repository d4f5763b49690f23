-- The first of the keys in whose place a key stands, by rotation; none for a key that took nobody's place. Kept answers,
-- kept responses and windows of rates are that one's, so that all values of a key share them. Keys that were rotated
-- before this have their own, as they had. Runs unchanged on SQLite and PostgreSQL.

ALTER TABLE api_key ADD COLUMN place TEXT;

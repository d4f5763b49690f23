-- Files that callers bring as inputs: assets with a purpose and a name of their caller's.
-- Runs unchanged on SQLite and PostgreSQL.

ALTER TABLE asset ADD COLUMN purpose TEXT;
ALTER TABLE asset ADD COLUMN name TEXT;
-- A key lists its own, the newest first, and what they are together is bounded.
CREATE INDEX asset_uploads ON asset (key_id, created_at, bytes) WHERE purpose IS NOT NULL;

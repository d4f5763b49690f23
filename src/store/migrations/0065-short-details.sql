-- Whether the process reads details of calls that are written in short. While one of a former version is known, none is.
-- Runs unchanged on SQLite and PostgreSQL.
ALTER TABLE instance ADD COLUMN short_details SMALLINT NOT NULL DEFAULT 0;

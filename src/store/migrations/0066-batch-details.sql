-- Of the tokens of a batch, those read from vendors' caches and those of thoughts, as OpenAI's form of a batch tells them.
-- Runs unchanged on SQLite and PostgreSQL.
ALTER TABLE batch ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE batch ADD COLUMN reasoning_tokens BIGINT NOT NULL DEFAULT 0;

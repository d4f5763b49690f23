-- What vendors' caches gave, in all sums of use: input tokens read from them, those written to them and billed as such, and
-- the nano-USD that this saved (negative if writing cost more). Sums that were made before have none of it until they are
-- made again. Runs unchanged on SQLite and PostgreSQL.
ALTER TABLE roll_up_hour ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_hour ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_hour ADD COLUMN cache_saved BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_day ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_day ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_day ADD COLUMN cache_saved BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_key ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_key ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_key ADD COLUMN cache_saved BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_key_month ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_key_month ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_key_month ADD COLUMN cache_saved BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_model_month ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_model_month ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE roll_up_model_month ADD COLUMN cache_saved BIGINT NOT NULL DEFAULT 0;

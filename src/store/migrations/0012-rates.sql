-- Rates of a key beside requests per minute: requests per hour and day, and tokens per minute.
-- Runs unchanged on SQLite and PostgreSQL.

ALTER TABLE api_key ADD COLUMN rph BIGINT;
ALTER TABLE api_key ADD COLUMN rpd BIGINT;
ALTER TABLE api_key ADD COLUMN tpm BIGINT;
ALTER TABLE api_key ADD COLUMN granted_rph BIGINT;
ALTER TABLE api_key ADD COLUMN granted_rpd BIGINT;
ALTER TABLE api_key ADD COLUMN granted_tpm BIGINT;

-- In rate_window, `key_id` names the counter: the key's id for requests per minute, '<key id> <rate>' for the others. So
-- a program of the version before counts on in the same rows while it is replaced.

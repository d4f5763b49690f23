-- Use by key and UTC month, of long spans and of statements: a report reads the months that it covers, and days only at its ends.
-- Runs unchanged on SQLite and PostgreSQL.

-- The sums of roll_up_key by month, which is the first instant of it. Triggers keep both tables equal to the days.
CREATE TABLE roll_up_key_month (
  key_id        TEXT NOT NULL,
  month         BIGINT NOT NULL,
  requests      BIGINT NOT NULL,
  input_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  amount        BIGINT NOT NULL,
  PRIMARY KEY (key_id, month)
) /*: without rowid */;

-- The sums of roll_up_day by month and model.
CREATE TABLE roll_up_model_month (
  key_id        TEXT NOT NULL,
  month         BIGINT NOT NULL,
  model         TEXT NOT NULL,
  requests      BIGINT NOT NULL,
  input_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  amount        BIGINT NOT NULL,
  PRIMARY KEY (key_id, month, model)
) /*: without rowid */;

-- Keys of an organisation in the order in which sums and postings of keys lie: what is summed key by key is sorted then.
DROP INDEX api_key_org;
CREATE INDEX api_key_org ON api_key (org_id, id);

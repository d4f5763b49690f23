-- Budgets: limits in money of a wallet's calls by what they are for, a tag and its value; an end user is the tag `user`.
-- Runs unchanged on SQLite and PostgreSQL.

CREATE TABLE tag_budget (
  id          TEXT PRIMARY KEY,
  wallet_id   TEXT NOT NULL REFERENCES account (id),
  tag         TEXT NOT NULL,
  -- Empty for the default, from which each value without a budget gets one when a call first names it.
  value       TEXT NOT NULL,
  spend_cap   BIGINT,
  monthly_cap BIGINT,
  weekly_cap  BIGINT,
  daily_cap   BIGINT,
  -- It was made from the default, and changes with it.
  made        SMALLINT NOT NULL DEFAULT 0 CHECK (made IN (0, 1)),
  -- Of a default: how many values get a budget of their own, how many have, and what becomes of others.
  values_max  BIGINT,
  values_made BIGINT NOT NULL DEFAULT 0,
  beyond      TEXT CHECK (beyond IN ('refuse', 'other')),
  created_at  BIGINT NOT NULL,
  CONSTRAINT tag_budget_value UNIQUE (wallet_id, tag, value),
  CONSTRAINT tag_budget_default CHECK ((value = '') = (values_max IS NOT NULL) AND (value = '') = (beyond IS NOT NULL))
);

-- The counters of a budget: as of a key, of its life and of each month, week and day.
ALTER TABLE budget ADD COLUMN tag_budget TEXT;
CREATE INDEX budget_of_tag ON budget (tag_budget) WHERE tag_budget IS NOT NULL;

-- A digest of what the calls of a lease are for, of all that is under budget in its wallet; and the budgets that this came
-- to, for its charges too. Null where no budget applies.
ALTER TABLE lease ADD COLUMN tags TEXT;
ALTER TABLE lease ADD COLUMN tag_budgets TEXT;
DROP INDEX lease_path;
CREATE UNIQUE INDEX lease_path ON lease (instance, key_id, day, wallet_id, (coalesce(sub_id, '')), (coalesce(tags, '')))
  WHERE state = 'open';
ALTER TABLE transfer ADD COLUMN tag_budgets TEXT;

-- The same, one row for each budget.
CREATE TABLE lease_tag (
  lease_id   TEXT NOT NULL REFERENCES lease (id) ON DELETE CASCADE,
  tag_budget TEXT NOT NULL,
  PRIMARY KEY (lease_id, tag_budget)
) /*: without rowid */;
CREATE INDEX lease_tag_budget ON lease_tag (tag_budget);

-- What calls of a key are for where they do not say, by name: the value, and whether no call may say otherwise.
ALTER TABLE api_key ADD COLUMN tags TEXT;

DROP VIEW lease_scope;
CREATE VIEW lease_scope AS
  SELECT l.id AS lease_id, 'key:' || n.owner_id AS scope FROM lease l JOIN key_line n ON n.key_id = l.key_id
  UNION ALL
  SELECT l.id, 'key:' || n.owner_id || ':' || l.month FROM lease l JOIN key_line n ON n.key_id = l.key_id
  UNION ALL
  SELECT l.id, 'key:' || n.owner_id || ':' || l.week FROM lease l JOIN key_line n ON n.key_id = l.key_id
    WHERE l.week IS NOT NULL
  UNION ALL
  SELECT l.id, 'key:' || n.owner_id || ':' || l.day FROM lease l JOIN key_line n ON n.key_id = l.key_id
    WHERE l.week IS NOT NULL
  UNION ALL
  SELECT l.id, 'day:' || k.wallet_id || ':' || l.day FROM lease l JOIN api_key k ON k.id = l.key_id
  UNION ALL
  SELECT l.id, 'sub:' || l.sub_id FROM lease l WHERE l.sub_id IS NOT NULL
  UNION ALL
  SELECT l.id, 'tag:' || x.tag_budget FROM lease_tag x JOIN lease l ON l.id = x.lease_id
  UNION ALL
  SELECT l.id, 'tag:' || x.tag_budget || ':' || l.month FROM lease_tag x JOIN lease l ON l.id = x.lease_id
  UNION ALL
  SELECT l.id, 'tag:' || x.tag_budget || ':' || l.week FROM lease_tag x JOIN lease l ON l.id = x.lease_id
  UNION ALL
  SELECT l.id, 'tag:' || x.tag_budget || ':' || l.day FROM lease_tag x JOIN lease l ON l.id = x.lease_id;

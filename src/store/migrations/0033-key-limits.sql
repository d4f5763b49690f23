-- Limits of a key: caps of a week and of a day, when it ends, the models and the addresses that it is for (JSON lists).
ALTER TABLE api_key ADD COLUMN weekly_cap BIGINT;
ALTER TABLE api_key ADD COLUMN granted_weekly_cap BIGINT;
ALTER TABLE api_key ADD COLUMN daily_cap BIGINT;
ALTER TABLE api_key ADD COLUMN granted_daily_cap BIGINT;
ALTER TABLE api_key ADD COLUMN expires_at BIGINT;
ALTER TABLE api_key ADD COLUMN granted_expires_at BIGINT;
ALTER TABLE api_key ADD COLUMN allowed_models TEXT;
ALTER TABLE api_key ADD COLUMN granted_allowed_models TEXT;
ALTER TABLE api_key ADD COLUMN allowed_addresses TEXT;
ALTER TABLE api_key ADD COLUMN granted_allowed_addresses TEXT;

-- Counters of a key's week, 'key:<id>:<Monday>/<Sunday>', and of its day, 'key:<id>:<day>', beside that of its month.
-- A lease counts in them if it names its week.
ALTER TABLE lease ADD COLUMN week TEXT;
ALTER TABLE budget ADD COLUMN week TEXT;
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
  SELECT l.id, 'sub:' || l.sub_id FROM lease l WHERE l.sub_id IS NOT NULL;

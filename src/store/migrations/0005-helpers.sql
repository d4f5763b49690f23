-- Sub-wallets that a call can name, rules of a wallet with a limit a day, anonymous trials, referrals, reviews.

-- A spending path is now an instance, a key, a day, an account that pays and a sub-wallet; leases end with their UTC day,
-- so that a call is counted in the day it was admitted in.
ALTER TABLE lease ADD COLUMN day TEXT NOT NULL DEFAULT '';
ALTER TABLE transfer ADD COLUMN day TEXT;
DROP INDEX lease_path;
CREATE UNIQUE INDEX lease_path ON lease (instance, key_id, day, wallet_id, (coalesce(sub_id, ''))) WHERE state = 'open';

-- Counters of a third kind: 'day:<wallet>:<day>', what the keys of a wallet spent in a UTC day, also on credit; `lim` is its daily limit, if any.
-- It is forgotten after `keep_until`, long after the last call of the day can be settled.
ALTER TABLE budget ADD COLUMN day TEXT;
ALTER TABLE budget ADD COLUMN keep_until BIGINT;
CREATE INDEX budget_forget ON budget (keep_until) WHERE keep_until IS NOT NULL;

DROP VIEW lease_scope;
CREATE INDEX api_key_wallet ON api_key (wallet_id);
CREATE VIEW lease_scope AS
  SELECT l.id AS lease_id, 'key:' || n.owner_id AS scope FROM lease l JOIN key_line n ON n.key_id = l.key_id
  UNION ALL
  SELECT l.id, 'key:' || n.owner_id || ':' || l.month FROM lease l JOIN key_line n ON n.key_id = l.key_id
  UNION ALL
  SELECT l.id, 'day:' || k.wallet_id || ':' || l.day FROM lease l JOIN api_key k ON k.id = l.key_id
  UNION ALL
  SELECT l.id, 'sub:' || l.sub_id FROM lease l WHERE l.sub_id IS NOT NULL;

-- Names of sub-wallets; their money is the counter 'sub:<id>'. Who made it is null for the operator. A deleted one
-- stays, for the ledger refers to it.
CREATE TABLE sub_wallet (
  id         TEXT PRIMARY KEY,
  wallet_id  TEXT NOT NULL REFERENCES account (id),
  maker_id   TEXT REFERENCES api_key (id),
  label      TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  deleted_at BIGINT,
  version    BIGINT NOT NULL DEFAULT 1,
  changed_at BIGINT NOT NULL
);
CREATE INDEX sub_wallet_changed ON sub_wallet (changed_at);
CREATE INDEX sub_wallet_wallet ON sub_wallet (wallet_id, created_at);
INSERT INTO sub_wallet (id, wallet_id, label, created_at, changed_at)
  SELECT sub_id, wallet_id, '', 0, 0 FROM budget WHERE sub_id IS NOT NULL;

-- The owner's rules for a wallet. `rules` is JSON; what SQL decides on stands in columns of its own.
CREATE TABLE wallet_rules (
  wallet_id     TEXT PRIMARY KEY REFERENCES account (id),
  rules         TEXT NOT NULL,
  daily_limit   BIGINT,
  alert_below   BIGINT,
  alert_state   TEXT NOT NULL DEFAULT 'armed' CHECK (alert_state IN ('armed', 'due', 'done')),
  alert_id      TEXT,
  alert_tries   BIGINT NOT NULL DEFAULT 0,
  alert_next_at BIGINT NOT NULL DEFAULT 0,
  version       BIGINT NOT NULL,
  changed_at    BIGINT NOT NULL
);
CREATE INDEX wallet_rules_changed ON wallet_rules (changed_at);
CREATE INDEX wallet_rules_alert ON wallet_rules (alert_state) WHERE alert_below IS NOT NULL;

-- The key of an anonymous trial and the instant it ends.
ALTER TABLE api_key ADD COLUMN trial_until BIGINT;

-- One claim per network address; `origin` is a keyed hash of it, so that no address is kept.
CREATE TABLE trial_claim (
  origin     TEXT PRIMARY KEY,
  wallet_id  TEXT NOT NULL,
  key_id     TEXT NOT NULL,
  attempt    TEXT,
  amount     BIGINT NOT NULL,
  claimed_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  ended      SMALLINT NOT NULL DEFAULT 0 CHECK (ended IN (0, 1))
);
CREATE INDEX trial_claim_end ON trial_claim (expires_at) WHERE ended = 0;

-- What all trials of a day were given together.
CREATE TABLE trial_day (
  day     TEXT PRIMARY KEY,
  granted BIGINT NOT NULL,
  lim     BIGINT NOT NULL,
  CONSTRAINT trial_day_kept CHECK (granted >= 0 AND granted <= lim)
);

-- A code for each account that asked for one, and the one claim that an account may make.
CREATE TABLE referral_code (
  code      TEXT PRIMARY KEY,
  wallet_id TEXT NOT NULL UNIQUE REFERENCES account (id)
);
CREATE TABLE referral_claim (
  org_id          TEXT PRIMARY KEY,
  wallet_id       TEXT NOT NULL,
  referrer_id     TEXT NOT NULL,
  referrer_amount BIGINT NOT NULL,
  claimant_amount BIGINT NOT NULL,
  claimed_at      BIGINT NOT NULL
);
CREATE INDEX referral_claim_referrer ON referral_claim (referrer_id);

-- One review of a skill by an account; a second one replaces the first.
CREATE TABLE review (
  id         TEXT NOT NULL,
  skill      TEXT NOT NULL,
  org_id     TEXT NOT NULL,
  rating     BIGINT NOT NULL CHECK (rating BETWEEN 1 AND 5),
  comment    TEXT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (skill, org_id)
);
CREATE INDEX review_skill ON review (skill, created_at);

-- Money, keys, and what open calls hold. Amounts are nano-USD, instants are milliseconds since 1970 UTC, months are
-- 'YYYY-MM' in UTC, truths are 0 or 1. Runs unchanged on SQLite and PostgreSQL, as all files without the name of an engine;

-- Who owns money. Wallets are bounded; house accounts are not: their balance is the sum of their postings, so that no
-- row is written by every call.
CREATE TABLE account (
  id         TEXT PRIMARY KEY,
  bounded    SMALLINT NOT NULL CHECK (bounded IN (0, 1)),
  org_id     TEXT NOT NULL,
  name       TEXT NOT NULL,
  balance    BIGINT NOT NULL DEFAULT 0,
  held       BIGINT NOT NULL DEFAULT 0,
  lowest     BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  CONSTRAINT account_held CHECK (held >= 0),
  CONSTRAINT no_overspend CHECK (bounded = 0 OR balance - held >= lowest)
);
-- Wallets of an organisation. Payments have accounts of their own, which are many.
CREATE INDEX account_org ON account (org_id, created_at, id) WHERE org_id <> 'x402';

CREATE TABLE api_key (
  id                        TEXT PRIMARY KEY,
  hash                      TEXT NOT NULL UNIQUE,
  org_id                    TEXT NOT NULL,
  wallet_id                 TEXT NOT NULL REFERENCES account (id),
  parent_id                 TEXT REFERENCES api_key (id),
  ancestors                 TEXT NOT NULL,
  sub_id                    TEXT,
  label                     TEXT NOT NULL,
  prefix                    TEXT NOT NULL,
  spend_cap                 BIGINT,
  monthly_cap               BIGINT,
  rpm                       BIGINT,
  stop_at                   BIGINT,
  granted_spend_cap         BIGINT,
  granted_monthly_cap       BIGINT,
  granted_rpm               BIGINT,
  granted_stop_at           BIGINT,
  disabled_reason           TEXT CHECK (disabled_reason IN ('self', 'operator', 'spend_cap', 'monthly_cap')),
  disabled_month            TEXT,
  deleted                   SMALLINT NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
  created_at                BIGINT NOT NULL,
  changed_at                BIGINT NOT NULL,
  version                   BIGINT NOT NULL DEFAULT 1,
  -- The key of an anonymous trial and the instant it ends.
  trial_until               BIGINT,
  -- Whether it may manage the wallet, and keys of its own.
  can_manage                SMALLINT NOT NULL DEFAULT 0 CHECK (can_manage IN (0, 1)),
  -- The key above this one with which it was disabled, and whether it had switched itself off before ('self').
  disabled_by               TEXT,
  disabled_before           TEXT,
  -- Requests per hour and day, and tokens per minute.
  rph                       BIGINT,
  rpd                       BIGINT,
  tpm                       BIGINT,
  granted_rph               BIGINT,
  granted_rpd               BIGINT,
  granted_tpm               BIGINT,
  -- A key's own names for models, as a JSON object of texts; null where it has none.
  aliases                   TEXT,
  -- Which secret the hash was made by, so that a server whose secret changes can tell what still hangs on the old one.
  hashed_by                 TEXT,
  -- A key that was made in place of an older one is above that one and all below it: its limits bind them, and it governs
  -- them. So `ancestors` and `key_line` name it too, and whose children they are is kept apart where that differs.
  parents                   TEXT,
  -- The first of the keys in whose place a key stands, by rotation; none for a key that took nobody's place. Kept answers,
  -- kept responses and windows of rates are that one's, so that all values of a key share them.
  place                     TEXT,
  -- Caps of a week and of a day, when it ends, the models and the addresses that it is for (JSON lists).
  weekly_cap                BIGINT,
  granted_weekly_cap        BIGINT,
  daily_cap                 BIGINT,
  granted_daily_cap         BIGINT,
  expires_at                BIGINT,
  granted_expires_at        BIGINT,
  allowed_models            TEXT,
  granted_allowed_models    TEXT,
  allowed_addresses         TEXT,
  granted_allowed_addresses TEXT
);
CREATE INDEX api_key_changed ON api_key (changed_at);
CREATE INDEX api_key_parent ON api_key (parent_id);
CREATE INDEX api_key_wallet ON api_key (wallet_id);
CREATE INDEX api_key_disabled_by ON api_key (disabled_by) WHERE disabled_by IS NOT NULL;
CREATE INDEX api_key_org ON api_key (org_id, id);

-- The key itself (depth 0), its maker, its maker's maker: everyone whose caps its calls count against.
CREATE TABLE key_line (
  key_id   TEXT NOT NULL REFERENCES api_key (id),
  owner_id TEXT NOT NULL REFERENCES api_key (id),
  depth    SMALLINT NOT NULL,
  PRIMARY KEY (key_id, owner_id)
);
CREATE INDEX key_line_owner ON key_line (owner_id);

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

-- One counter for each cap: 'key:<id>', 'key:<id>:<month>', 'key:<id>:<Monday>/<Sunday>', 'key:<id>:<day>', 'sub:<id>', or
-- 'day:<wallet>:<day>': what the keys of a wallet spent in a UTC day, also on credit. A cap may be lowered under what is
-- already used and held; `tolerated` is that amount, and from then on the counter may only shrink until it is under the cap.
CREATE TABLE budget (
  scope      TEXT PRIMARY KEY,
  owner_id   TEXT,
  month      TEXT,
  sub_id     TEXT,
  wallet_id  TEXT NOT NULL,
  lim        BIGINT,
  tolerated  BIGINT NOT NULL DEFAULT 0,
  used       BIGINT NOT NULL DEFAULT 0,
  held       BIGINT NOT NULL DEFAULT 0,
  calls      BIGINT NOT NULL DEFAULT 0,
  -- That of a day or week is forgotten after `keep_until`, long after its last call can be settled.
  day        TEXT,
  keep_until BIGINT,
  week       TEXT,
  CONSTRAINT budget_counts CHECK (held >= 0 AND used + held >= 0),
  CONSTRAINT cap_kept CHECK (lim IS NULL OR used + held <= lim OR used + held <= tolerated)
);
CREATE INDEX budget_forget ON budget (keep_until) WHERE keep_until IS NOT NULL;

-- Money set aside for one spending path: an instance, a key, a day, an account that pays and a sub-wallet; leases end with
-- their UTC day, so that a call is counted in the day it was admitted in. `used` and `calls` are what is not folded into the
-- account and the budgets yet.
CREATE TABLE lease (
  id         TEXT PRIMARY KEY,
  instance   TEXT NOT NULL,
  key_id     TEXT NOT NULL REFERENCES api_key (id),
  wallet_id  TEXT NOT NULL REFERENCES account (id),
  sub_id     TEXT,
  month      TEXT NOT NULL,
  granted    BIGINT NOT NULL DEFAULT 0,
  used       BIGINT NOT NULL DEFAULT 0,
  calls      BIGINT NOT NULL DEFAULT 0,
  expires_at BIGINT NOT NULL,
  state      TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'quarantined', 'closed')),
  recall     SMALLINT NOT NULL DEFAULT 0 CHECK (recall IN (0, 1)),
  day        TEXT NOT NULL DEFAULT '',
  -- A lease counts in the counters of its key's week and day if it names its week.
  week       TEXT,
  CONSTRAINT lease_not_overdrawn CHECK (used >= 0 AND used <= granted)
);
CREATE INDEX lease_wallet ON lease (wallet_id) WHERE state <> 'closed';
CREATE INDEX lease_key ON lease (key_id) WHERE state <> 'closed';
CREATE INDEX lease_expiry ON lease (state, expires_at);
CREATE INDEX lease_sub ON lease (sub_id) WHERE sub_id IS NOT NULL AND state <> 'closed';
CREATE UNIQUE INDEX lease_path ON lease (instance, key_id, day, wallet_id, (coalesce(sub_id, ''))) WHERE state = 'open';
-- Each heartbeat looks for the few leases of its process that others wait for, among the many that it has.
CREATE INDEX lease_recall ON lease (instance) WHERE recall = 1;

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

-- `/*: without rowid */` is read by SQLite only: the table is then its own primary index, one tree less to write.
-- The durable intent of a call, written before its first byte reaches the client; the row exists while the call is
-- open. It has no foreign key because it is only ever inserted by a join with its lease, on the hot path.
CREATE TABLE inflight (
  call_id    TEXT PRIMARY KEY,
  lease_id   TEXT NOT NULL,
  hold       BIGINT NOT NULL CHECK (hold >= 0),
  spent      BIGINT NOT NULL DEFAULT 0 CHECK (spent >= 0),
  started_at BIGINT NOT NULL
) /*: without rowid */;
CREATE INDEX inflight_lease ON inflight (lease_id);

-- The ledger. One row is one debit and one credit, so it cannot be unbalanced; (kind, ref) makes a replay harmless.
-- No foreign keys: checking them would lock the revenue row in every commit. `post` and the lease check instead.
CREATE TABLE transfer (
  -- Written as CASE because SQLite builds a table for a long IN each time a row is inserted.
  kind     TEXT NOT NULL CHECK (CASE kind WHEN 'usage' THEN 1 WHEN 'topup' THEN 1 WHEN 'grant' THEN 1
                               WHEN 'refund' THEN 1 WHEN 'writeoff' THEN 1 WHEN 'adjust' THEN 1 ELSE 0 END = 1),
  ref      TEXT NOT NULL,
  debit    TEXT NOT NULL,
  credit   TEXT NOT NULL,
  amount   BIGINT NOT NULL,
  key_id   TEXT,
  month    TEXT,
  sub_id   TEXT,
  of_call  TEXT,
  note     TEXT,
  at       BIGINT NOT NULL,
  day      TEXT,
  -- Which attempt of a call was charged, by the lease it ran on: a call that is repeated under an Idempotency-Key keeps its
  -- id, and only the attempt that was charged may answer. Null for what was recovered of a crash.
  attempt  TEXT,
  -- `settled` says how a call was charged or written off if not by its own process in time: 'late' after its lease was closed,
  -- 'recovered' from its last checkpoint. `of_topup` names the payment of which an adjustment is a refund or dispute.
  settled  TEXT,
  of_topup TEXT,
  PRIMARY KEY (kind, ref),
  CONSTRAINT transfer_amount CHECK (amount >= 0),
  CONSTRAINT transfer_sides CHECK (debit <> credit)
) /*: without rowid */;
CREATE INDEX transfer_key ON transfer (key_id, at) WHERE key_id IS NOT NULL;
CREATE INDEX transfer_refund ON transfer (of_call) WHERE of_call IS NOT NULL;
-- Movements that are no calls, by account; a call writes neither.
CREATE INDEX transfer_debit ON transfer (debit, at, kind, ref) WHERE kind <> 'usage';
CREATE INDEX transfer_credit ON transfer (credit, at, kind, ref) WHERE kind <> 'usage';

CREATE VIEW posting AS
  SELECT kind, ref, debit AS account_id, -amount AS amount FROM transfer
  UNION ALL
  SELECT kind, ref, credit, amount FROM transfer;

-- What a call used, apart from the money so that it can be deleted. `detail` is JSON.
CREATE TABLE usage_detail (
  call_id       TEXT PRIMARY KEY,
  model         TEXT NOT NULL,
  input_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  detail        TEXT NOT NULL
) /*: without rowid */;

-- Processes of the server, and their heartbeats.
CREATE TABLE instance (
  id      TEXT PRIMARY KEY,
  beat_at BIGINT NOT NULL,
  seen    BIGINT,
  nudge   TEXT,
  -- Whether it keeps its leases, as it says with its heartbeat; while one serves that does not, none does.
  keeps   SMALLINT NOT NULL DEFAULT 0
);

-- How often each rate of a key was used. `key_id` names the counter: the key's id for requests per minute, '<key id> <rate>'
-- for the others.
CREATE TABLE rate_window (
  key_id       TEXT PRIMARY KEY,
  window_start BIGINT NOT NULL,
  used         BIGINT NOT NULL,
  taken        BIGINT NOT NULL
);
-- Counters of rates whose window is long over are found without reading all of them.
CREATE INDEX rate_window_old ON rate_window (window_start);

CREATE TABLE setting (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

-- Money, keys and calls. Amounts are nano-USD, instants are milliseconds since 1970 UTC, months are 'YYYY-MM' in UTC,
-- truths are 0 or 1. Runs unchanged on SQLite and PostgreSQL.

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

CREATE TABLE api_key (
  id                  TEXT PRIMARY KEY,
  hash                TEXT NOT NULL UNIQUE,
  org_id              TEXT NOT NULL,
  wallet_id           TEXT NOT NULL REFERENCES account (id),
  parent_id           TEXT REFERENCES api_key (id),
  ancestors           TEXT NOT NULL,
  sub_id              TEXT,
  label               TEXT NOT NULL,
  prefix              TEXT NOT NULL,
  spend_cap           BIGINT,
  monthly_cap         BIGINT,
  rpm                 BIGINT,
  stop_at             BIGINT,
  granted_spend_cap   BIGINT,
  granted_monthly_cap BIGINT,
  granted_rpm         BIGINT,
  granted_stop_at     BIGINT,
  disabled_reason     TEXT CHECK (disabled_reason IN ('self', 'operator', 'spend_cap', 'monthly_cap')),
  disabled_month      TEXT,
  deleted             SMALLINT NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
  created_at          BIGINT NOT NULL,
  changed_at          BIGINT NOT NULL,
  version             BIGINT NOT NULL DEFAULT 1
);
CREATE INDEX api_key_changed ON api_key (changed_at);
CREATE INDEX api_key_parent ON api_key (parent_id);

-- The key itself (depth 0), its maker, its maker's maker: everyone whose caps its calls count against.
CREATE TABLE key_line (
  key_id   TEXT NOT NULL REFERENCES api_key (id),
  owner_id TEXT NOT NULL REFERENCES api_key (id),
  depth    SMALLINT NOT NULL,
  PRIMARY KEY (key_id, owner_id)
);
CREATE INDEX key_line_owner ON key_line (owner_id);

-- One counter for each cap: 'key:<id>', 'key:<id>:<month>' or 'sub:<id>'. A cap may be lowered under what is already
-- used and held; `tolerated` is that amount, and from then on the counter may only shrink until it is under the cap.
CREATE TABLE budget (
  scope     TEXT PRIMARY KEY,
  owner_id  TEXT,
  month     TEXT,
  sub_id    TEXT,
  wallet_id TEXT NOT NULL,
  lim       BIGINT,
  tolerated BIGINT NOT NULL DEFAULT 0,
  used      BIGINT NOT NULL DEFAULT 0,
  held      BIGINT NOT NULL DEFAULT 0,
  calls     BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT budget_counts CHECK (held >= 0 AND used + held >= 0),
  CONSTRAINT cap_kept CHECK (lim IS NULL OR used + held <= lim OR used + held <= tolerated)
);

-- Money set aside for one spending path: an instance, a key, a month. `used` and `calls` are what is not folded into
-- the account and the budgets yet.
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
  CONSTRAINT lease_not_overdrawn CHECK (used >= 0 AND used <= granted)
);
CREATE UNIQUE INDEX lease_path ON lease (instance, key_id, month) WHERE state = 'open';
CREATE INDEX lease_wallet ON lease (wallet_id) WHERE state <> 'closed';
CREATE INDEX lease_key ON lease (key_id) WHERE state <> 'closed';
CREATE INDEX lease_expiry ON lease (state, expires_at);

CREATE VIEW lease_scope AS
  SELECT l.id AS lease_id, 'key:' || n.owner_id AS scope FROM lease l JOIN key_line n ON n.key_id = l.key_id
  UNION ALL
  SELECT l.id, 'key:' || n.owner_id || ':' || l.month FROM lease l JOIN key_line n ON n.key_id = l.key_id
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
  kind    TEXT NOT NULL CHECK (CASE kind WHEN 'usage' THEN 1 WHEN 'topup' THEN 1 WHEN 'grant' THEN 1
                               WHEN 'refund' THEN 1 WHEN 'writeoff' THEN 1 WHEN 'adjust' THEN 1 ELSE 0 END = 1),
  ref     TEXT NOT NULL,
  debit   TEXT NOT NULL,
  credit  TEXT NOT NULL,
  amount  BIGINT NOT NULL,
  key_id  TEXT,
  month   TEXT,
  sub_id  TEXT,
  of_call TEXT,
  note    TEXT,
  at      BIGINT NOT NULL,
  PRIMARY KEY (kind, ref),
  CONSTRAINT transfer_amount CHECK (amount >= 0),
  CONSTRAINT transfer_sides CHECK (debit <> credit)
) /*: without rowid */;
CREATE INDEX transfer_key ON transfer (key_id, at) WHERE key_id IS NOT NULL;
CREATE INDEX transfer_refund ON transfer (of_call) WHERE of_call IS NOT NULL;

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

CREATE TABLE idempotency (
  key_id       TEXT NOT NULL,
  endpoint     TEXT NOT NULL,
  idem_key     TEXT NOT NULL,
  fingerprint  TEXT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('running', 'released', 'done')),
  call_id      TEXT NOT NULL,
  instance     TEXT NOT NULL,
  status       BIGINT,
  headers      TEXT,
  body         TEXT,
  locked_until BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL,
  PRIMARY KEY (key_id, endpoint, idem_key)
);
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

CREATE TABLE instance (
  id      TEXT PRIMARY KEY,
  beat_at BIGINT NOT NULL,
  seen    BIGINT,
  nudge   TEXT
);

CREATE TABLE rate_window (
  key_id       TEXT PRIMARY KEY,
  window_start BIGINT NOT NULL,
  used         BIGINT NOT NULL,
  taken        BIGINT NOT NULL
);

CREATE TABLE setting (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

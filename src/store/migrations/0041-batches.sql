-- Batches: many calls that nobody waits for, each a line with its own hold, charge and receipt.
-- Runs unchanged on SQLite and PostgreSQL.

CREATE TABLE batch (
  -- Also the name under which its lease holds the money of lines that are not sent yet.
  id            TEXT PRIMARY KEY,
  -- The form of API in which it was made; it is read only in that one.
  form          TEXT NOT NULL,
  key_id        TEXT NOT NULL,
  wallet_id     TEXT NOT NULL,
  sub           TEXT,
  -- The account that pays.
  payer         TEXT NOT NULL,
  on_cap        TEXT NOT NULL CHECK (on_cap IN ('refuse', 'run_what_fits')),
  -- JSON: what its caller said, as its form needs it.
  asked         TEXT NOT NULL,
  -- Assets: its lines, their results, and the results of lines that failed.
  input         TEXT NOT NULL,
  output        TEXT,
  errors        TEXT,
  state         TEXT NOT NULL CHECK (state IN ('validating', 'in_progress', 'finalizing', 'ended')),
  -- Why lines were not sent: 'cancelled', 'expired', or the code of a refusal.
  stop          TEXT,
  total         BIGINT NOT NULL DEFAULT 0,
  waiting       BIGINT NOT NULL DEFAULT 0,
  sent          BIGINT NOT NULL DEFAULT 0,
  succeeded     BIGINT NOT NULL DEFAULT 0,
  errored       BIGINT NOT NULL DEFAULT 0,
  stopped       BIGINT NOT NULL DEFAULT 0,
  -- The most that its waiting lines can cost, and what its lines were charged.
  rest          BIGINT NOT NULL DEFAULT 0,
  charged       BIGINT NOT NULL DEFAULT 0,
  input_tokens  BIGINT NOT NULL DEFAULT 0,
  output_tokens BIGINT NOT NULL DEFAULT 0,
  -- The lease that holds for its waiting lines; calls that were sent may be on earlier ones.
  lease_id      TEXT,
  cancel_at     BIGINT,
  -- The process that runs it, until then.
  owner         TEXT NOT NULL,
  owner_until   BIGINT NOT NULL,
  webhook       TEXT,
  webhook_at    BIGINT,
  webhook_tries BIGINT NOT NULL DEFAULT 0,
  created_at    BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL,
  ended_at      BIGINT,
  keep_until    BIGINT
);
CREATE INDEX batch_open ON batch (owner_until) WHERE state <> 'ended';
CREATE INDEX batch_key ON batch (key_id, created_at);
CREATE INDEX batch_webhook ON batch (webhook_at) WHERE webhook_at IS NOT NULL;
CREATE INDEX batch_kept ON batch (keep_until) WHERE keep_until IS NOT NULL;

CREATE TABLE batch_line (
  batch_id  TEXT NOT NULL,
  n         BIGINT NOT NULL,
  custom_id TEXT NOT NULL,
  -- Where it is in the input.
  at        BIGINT NOT NULL,
  bytes     BIGINT NOT NULL,
  -- The most that it can cost.
  bound     BIGINT NOT NULL,
  state     TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'succeeded', 'errored', 'stopped')),
  tries     BIGINT NOT NULL DEFAULT 0,
  -- A line whose vendor was busy waits until then.
  pause     BIGINT NOT NULL DEFAULT 0,
  -- The call of its present try, or the one that was charged.
  call_id   TEXT,
  charged   BIGINT,
  -- The answer as it is, or the refusal as JSON, until the files are written.
  result    TEXT,
  receipt   TEXT,
  PRIMARY KEY (batch_id, n),
  FOREIGN KEY (batch_id) REFERENCES batch (id) ON DELETE CASCADE
);
CREATE INDEX batch_line_state ON batch_line (batch_id, state, n);
CREATE INDEX batch_line_call ON batch_line (call_id) WHERE call_id IS NOT NULL;

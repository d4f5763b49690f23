-- What calls leave beside their charges: repeatable answers, kept responses, files, jobs, batches, and calls that failed.

-- Calls that carried an Idempotency-Key, with their answers.
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

-- Keys that sign receipts. `public_key` is for everyone; the private half is sealed under the server's secret. A key is
-- published before it signs, so that whoever keeps a copy of the key set has it in time.
CREATE TABLE receipt_key (
  n          BIGINT PRIMARY KEY,
  kid        TEXT NOT NULL UNIQUE,
  public_key TEXT NOT NULL,
  sealed     TEXT NOT NULL,
  signs_from BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);

-- Responses that their callers asked to keep, each of one key alone: what was asked since the one before, and what was said.
CREATE TABLE kept_response (
  key_id      TEXT NOT NULL REFERENCES api_key (id),
  id          TEXT NOT NULL,
  previous_id TEXT,
  -- The items of the request as it named them, and the response without its output; both as JSON.
  input       TEXT NOT NULL,
  body        TEXT NOT NULL,
  bytes       BIGINT NOT NULL,
  expires_at  BIGINT NOT NULL,
  -- A response that is made while nobody waits for it has a row from the beginning, and ends once.
  -- 'open' while it is made, 'ended' if it can be read but not continued; null for those that others may continue.
  state       TEXT,
  -- The process that makes it, and whether somebody asked it to stop.
  owner       TEXT,
  cancel      BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (key_id, id)
);
CREATE INDEX kept_response_expiry ON kept_response (expires_at);
CREATE INDEX kept_response_open ON kept_response (owner) WHERE state = 'open';

-- The items of the output, which later requests may name.
CREATE TABLE kept_item (
  key_id      TEXT NOT NULL,
  response_id TEXT NOT NULL,
  place       BIGINT NOT NULL,
  id          TEXT NOT NULL,
  body        TEXT NOT NULL,
  PRIMARY KEY (key_id, response_id, place),
  FOREIGN KEY (key_id, response_id) REFERENCES kept_response (key_id, id) ON DELETE CASCADE
);
CREATE INDEX kept_item_id ON kept_item (key_id, id);

-- The events of streams of responses in the background, many in a row: one JSON text a line, numbered from `place`.
CREATE TABLE kept_event (
  key_id      TEXT NOT NULL,
  response_id TEXT NOT NULL,
  place       BIGINT NOT NULL,
  count       BIGINT NOT NULL,
  body        TEXT NOT NULL,
  PRIMARY KEY (key_id, response_id, place),
  FOREIGN KEY (key_id, response_id) REFERENCES kept_response (key_id, id) ON DELETE CASCADE
);

-- What was written for a key since its responses were last cut down to their bound: no less than what it has.
CREATE TABLE kept_size (
  key_id TEXT PRIMARY KEY,
  bytes  BIGINT NOT NULL
);

-- Results of calls that are stored here: who may read them, what they are, and until when they are kept.
CREATE TABLE asset (
  -- 128 random bits, in hex; also the name of the bytes.
  id         TEXT PRIMARY KEY,
  key_id     TEXT NOT NULL,
  -- The call it is a result of, and which of its results.
  run_id     TEXT NOT NULL,
  place      BIGINT NOT NULL,
  -- Who made it, such as a vendor's name.
  source     TEXT NOT NULL,
  -- 0 while its bytes are written: nobody sees it, and the sweep takes it when its writer has died.
  ready      BIGINT NOT NULL,
  sha256     TEXT NOT NULL,
  bytes      BIGINT NOT NULL,
  media_type TEXT NOT NULL,
  extension  TEXT NOT NULL,
  width      BIGINT,
  height     BIGINT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- Files that callers bring as inputs: assets with a purpose and a name of their caller's.
  purpose    TEXT,
  name       TEXT,
  -- Small results lie in their rows: a file of its own costs more than all else of such a call.
  body       BYTEA
);
-- Each result is stored once, however often its call is taken up again.
CREATE UNIQUE INDEX asset_place ON asset (run_id, place) WHERE ready = 1;
-- With the bytes, so that their sum needs no row.
CREATE INDEX asset_expiry ON asset (expires_at, bytes);
-- A key lists its own, the newest first, and what they are together is bounded.
CREATE INDEX asset_uploads ON asset (key_id, created_at, bytes) WHERE purpose IS NOT NULL;

-- Jobs: calls of products that outlive their request. Neither prompts nor other inputs are kept.
CREATE TABLE run (
  -- The id of the call; its money is held on a lease of its own.
  id            TEXT PRIMARY KEY,
  key_id        TEXT NOT NULL,
  wallet_id     TEXT NOT NULL,
  -- The account that pays.
  payer         TEXT NOT NULL,
  lease_id      TEXT NOT NULL,
  model         TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('submitting', 'running', 'done', 'failed', 'cancelled')),
  hold          BIGINT NOT NULL,
  -- JSON: the vendor's name of the job, the deployment, prices and bound, how it is paid and told. Absent before it runs.
  facts         TEXT,
  -- In thousandths, as the vendor told it last.
  progress      BIGINT,
  -- What its owner must look at: somebody asked to cancel it, or says that it may have ended.
  cancel        BIGINT NOT NULL DEFAULT 0,
  wake          BIGINT NOT NULL DEFAULT 0,
  -- The process that goes on with it, until then.
  owner         TEXT NOT NULL,
  owner_until   BIGINT NOT NULL,
  deadline      BIGINT NOT NULL,
  -- JSON: what was delivered, or why nothing was.
  result        TEXT,
  webhook       TEXT,
  webhook_at    BIGINT,
  webhook_tries BIGINT NOT NULL DEFAULT 0,
  created_at    BIGINT NOT NULL,
  ended_at      BIGINT,
  keep_until    BIGINT
);
CREATE INDEX run_silent ON run (owner_until) WHERE ended_at IS NULL;
CREATE INDEX run_owner ON run (owner) WHERE ended_at IS NULL;
CREATE INDEX run_key ON run (key_id, created_at);
CREATE INDEX run_webhook ON run (webhook_at) WHERE webhook_at IS NOT NULL;
CREATE INDEX run_kept ON run (keep_until) WHERE ended_at IS NOT NULL;

-- Batches: many calls that nobody waits for, each a line with its own hold, charge and receipt.
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

-- The lines of a batch.
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

-- Calls of known keys that were refused or failed, never with content: without them nobody sees why a customer's calls end. `detail` is JSON: times, the limit that bound, the attempts at vendors.
CREATE TABLE failed_call (
  call_id TEXT PRIMARY KEY,
  org_id  TEXT NOT NULL,
  key_id  TEXT NOT NULL,
  at      BIGINT NOT NULL,
  model   TEXT,
  vendor  TEXT,
  code    TEXT NOT NULL,
  status  BIGINT NOT NULL,
  detail  TEXT NOT NULL
) /*: without rowid */;
CREATE INDEX failed_call_key ON failed_call (key_id, at);
-- The newest of an organisation with thousands of keys are one look.
CREATE INDEX failed_call_org ON failed_call (org_id, at);

-- How many there were by key, UTC day and code. Rows beyond the budget of such a slot are only counted here.
CREATE TABLE failed_day (
  slot   TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  day    BIGINT NOT NULL,
  code   TEXT NOT NULL,
  calls  BIGINT NOT NULL
) /*: without rowid */;
CREATE INDEX failed_day_org ON failed_day (org_id, day);

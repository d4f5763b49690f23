-- Jobs: calls of products that outlive their request. Neither prompts nor other inputs are kept.
-- Runs unchanged on SQLite and PostgreSQL.

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

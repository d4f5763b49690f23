-- Payments by x402: one row a payment, which pays for one request out of an account of its own. Amounts are nano-USD.
-- Runs unchanged on SQLite and PostgreSQL.

-- `id` is <network>:<asset>:<payer>:<nonce> in lower case: what the token's contract takes just once. `sent` is what the
-- facilitator was given, kept only while it is not known whether the payment went through. `credit_to` is the wallet of
-- the bearer, if there was one; `change_to` is where the rest went, once.
CREATE TABLE x402_payment (
  id          TEXT PRIMARY KEY,
  call_id     TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('settling', 'settled', 'failed')),
  account_id  TEXT NOT NULL,
  amount      BIGINT NOT NULL,
  payer       TEXT NOT NULL,
  credit_to   TEXT,
  change_to   TEXT,
  tx          TEXT,
  reason      TEXT,
  sent        TEXT,
  created_at  BIGINT NOT NULL,
  settled_at  BIGINT,
  next_try    BIGINT NOT NULL,
  tries       BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT x402_amount CHECK (amount > 0)
);
CREATE INDEX x402_payment_settling ON x402_payment (next_try) WHERE state = 'settling';
CREATE INDEX x402_payment_change ON x402_payment (next_try)
  WHERE state = 'settled' AND change_to IS NULL AND credit_to IS NOT NULL;

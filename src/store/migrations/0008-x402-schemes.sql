-- Payments that are authorised before a call and settled for its charge (scheme `upto`), and payments of invoices.
-- Runs unchanged on SQLite and PostgreSQL.

-- With `upto` a payment begins as `authorized`: nothing has moved, `amount` is the most that may, and the account may
-- fall to minus that. When the call is charged, `amount` becomes what is settled. A charge that the payer's money did not
-- cover in the end is `lost`: the house paid it. After `expires_at` the chain takes it no
-- more. `invoice_id` is what is paid for when it is not a call.
CREATE TABLE x402_payment_new (
  id          TEXT PRIMARY KEY,
  call_id     TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('authorized', 'settling', 'settled', 'failed', 'lost')),
  scheme      TEXT NOT NULL CHECK (scheme IN ('exact', 'upto')),
  account_id  TEXT NOT NULL,
  amount      BIGINT NOT NULL,
  payer       TEXT NOT NULL,
  invoice_id  TEXT REFERENCES invoice (id),
  credit_to   TEXT,
  change_to   TEXT,
  tx          TEXT,
  reason      TEXT,
  sent        TEXT,
  created_at  BIGINT NOT NULL,
  settled_at  BIGINT,
  next_try    BIGINT NOT NULL,
  expires_at  BIGINT,
  tries       BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT x402_amount CHECK (amount > 0)
);
INSERT INTO x402_payment_new (id, call_id, fingerprint, state, scheme, account_id, amount, payer, credit_to, change_to,
    tx, reason, sent, created_at, settled_at, next_try, tries)
  SELECT id, call_id, fingerprint, state, 'exact', account_id, amount, payer, credit_to, change_to, tx, reason, sent,
    created_at, settled_at, next_try, tries FROM x402_payment;
DROP TABLE x402_payment;
ALTER TABLE x402_payment_new RENAME TO x402_payment;
CREATE INDEX x402_payment_open ON x402_payment (next_try) WHERE state IN ('authorized', 'settling');
CREATE INDEX x402_payment_change ON x402_payment (next_try)
  WHERE state = 'settled' AND change_to IS NULL AND credit_to IS NOT NULL;
CREATE INDEX x402_payment_call ON x402_payment (call_id);
-- What a payer has authorised and not paid yet, and has failed to pay.
CREATE INDEX x402_payment_upto ON x402_payment (payer) WHERE state IN ('authorized', 'settling', 'lost') AND scheme = 'upto';

-- Money from outside and money on credit. Runs unchanged on SQLite and PostgreSQL.

-- Post-paid: a credit line is an account beside a wallet that may fall to minus its limit; minus its balance is owed.
CREATE TABLE credit_line (
  account_id TEXT PRIMARY KEY REFERENCES account (id),
  wallet_id  TEXT NOT NULL UNIQUE REFERENCES account (id),
  lim        BIGINT NOT NULL CHECK (lim >= 0),
  net_days   BIGINT NOT NULL CHECK (net_days BETWEEN 0 AND 365),
  opened     TEXT NOT NULL
);

-- One a credit line and month, in order and without gaps. What is less than a cent is carried to the next one.
CREATE TABLE invoice (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES credit_line (account_id),
  serial     BIGINT NOT NULL,
  month      TEXT NOT NULL,
  ends_at    BIGINT NOT NULL,
  brought    BIGINT NOT NULL,
  used       BIGINT NOT NULL,
  total      BIGINT NOT NULL,
  carried    BIGINT NOT NULL,
  issued_at  BIGINT NOT NULL,
  due_at     BIGINT NOT NULL,
  paid_at    BIGINT,
  paid_ref   TEXT,
  UNIQUE (account_id, month),
  UNIQUE (account_id, serial),
  CONSTRAINT invoice_adds_up CHECK (brought + used = total + carried),
  CONSTRAINT invoice_in_cents CHECK (total >= 0 AND total % 10000000 = 0),
  CONSTRAINT invoice_paid CHECK ((paid_at IS NULL) = (paid_ref IS NULL))
);

-- What somebody was sent to Stripe to pay: for a wallet, or for an invoice of its credit line.
CREATE TABLE checkout (
  id         TEXT PRIMARY KEY,
  wallet_id  TEXT NOT NULL REFERENCES account (id),
  invoice_id TEXT REFERENCES invoice (id),
  amount     BIGINT NOT NULL CHECK (amount > 0),
  paid_ref   TEXT UNIQUE,
  created_at BIGINT NOT NULL
);

-- A key may have a lease on its wallet and one on its credit line at the same time.
DROP INDEX lease_path;
CREATE UNIQUE INDEX lease_path ON lease (instance, key_id, month, wallet_id) WHERE state = 'open';
CREATE INDEX lease_sub ON lease (sub_id) WHERE sub_id IS NOT NULL AND state <> 'closed';

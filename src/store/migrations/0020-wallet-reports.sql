-- Reports of wallets that stay fast however large the ledger is. Runs unchanged on SQLite and PostgreSQL.

-- What calls took from an account by UTC day, made as the other roll-ups are.
CREATE TABLE roll_up_account (
  account_id TEXT NOT NULL,
  day        BIGINT NOT NULL,
  last_at    BIGINT NOT NULL,
  amount     BIGINT NOT NULL,
  PRIMARY KEY (account_id, day)
) /*: without rowid */;

-- Use by key and UTC day without models: a fraction of the rows of roll_up_day, and in the order in which keys are summed.
CREATE TABLE roll_up_key (
  org_id        TEXT NOT NULL,
  key_id        TEXT NOT NULL,
  day           BIGINT NOT NULL,
  requests      BIGINT NOT NULL,
  input_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  amount        BIGINT NOT NULL,
  PRIMARY KEY (org_id, key_id, day)
) /*: without rowid */;

-- Wallets of an organisation. Payments have accounts of their own, which are many.
CREATE INDEX account_org ON account (org_id, created_at, id) WHERE org_id <> 'x402';

-- Movements that are no calls, by account; a call writes neither.
CREATE INDEX transfer_debit ON transfer (debit, at, kind, ref) WHERE kind <> 'usage';
CREATE INDEX transfer_credit ON transfer (credit, at, kind, ref) WHERE kind <> 'usage';

-- Sums that were made before do not have the new table: all are made anew.
DELETE FROM roll_up_hour;
DELETE FROM roll_up_day;
DELETE FROM setting WHERE name = 'rolled_up_until';

-- What reports read, and what resellers bill their tenants: the ledger knows nothing of the latter.

-- Reports read sums: by organisation and hour, and by key and day. Made from the ledger up to a whole hour in the past (the
-- setting `rolled_up_until`); what came later is summed from the ledger itself. Amounts are charges less refunds.
CREATE TABLE roll_up_hour (
  org_id             TEXT NOT NULL,
  hour               BIGINT NOT NULL,
  model              TEXT NOT NULL,
  vendor             TEXT NOT NULL,
  ended              TEXT NOT NULL,
  requests           BIGINT NOT NULL,
  input_tokens       BIGINT NOT NULL,
  output_tokens      BIGINT NOT NULL,
  amount             BIGINT NOT NULL,
  -- What vendors' caches gave: input tokens read from them, those written to them and billed as such, and
  -- the nano-USD that this saved (negative if writing cost more).
  cached_tokens      BIGINT NOT NULL DEFAULT 0,
  cache_write_tokens BIGINT NOT NULL DEFAULT 0,
  cache_saved        BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org_id, hour, model, vendor, ended)
) /*: without rowid */;

CREATE TABLE roll_up_day (
  key_id             TEXT NOT NULL,
  day                BIGINT NOT NULL,
  model              TEXT NOT NULL,
  vendor             TEXT NOT NULL,
  ended              TEXT NOT NULL,
  requests           BIGINT NOT NULL,
  input_tokens       BIGINT NOT NULL,
  output_tokens      BIGINT NOT NULL,
  amount             BIGINT NOT NULL,
  cached_tokens      BIGINT NOT NULL DEFAULT 0,
  cache_write_tokens BIGINT NOT NULL DEFAULT 0,
  cache_saved        BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (key_id, day, model, vendor, ended)
) /*: without rowid */;

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
  org_id             TEXT NOT NULL,
  key_id             TEXT NOT NULL,
  day                BIGINT NOT NULL,
  requests           BIGINT NOT NULL,
  input_tokens       BIGINT NOT NULL,
  output_tokens      BIGINT NOT NULL,
  amount             BIGINT NOT NULL,
  cached_tokens      BIGINT NOT NULL DEFAULT 0,
  cache_write_tokens BIGINT NOT NULL DEFAULT 0,
  cache_saved        BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (org_id, key_id, day)
) /*: without rowid */;

-- The sums of roll_up_key by month, which is its first instant: a report of a long span reads the months that it covers, and
-- days only at its ends. Triggers keep both tables equal to the days.
CREATE TABLE roll_up_key_month (
  key_id             TEXT NOT NULL,
  month              BIGINT NOT NULL,
  requests           BIGINT NOT NULL,
  input_tokens       BIGINT NOT NULL,
  output_tokens      BIGINT NOT NULL,
  amount             BIGINT NOT NULL,
  cached_tokens      BIGINT NOT NULL DEFAULT 0,
  cache_write_tokens BIGINT NOT NULL DEFAULT 0,
  cache_saved        BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (key_id, month)
) /*: without rowid */;

-- The sums of roll_up_day by month and model.
CREATE TABLE roll_up_model_month (
  key_id             TEXT NOT NULL,
  month              BIGINT NOT NULL,
  model              TEXT NOT NULL,
  requests           BIGINT NOT NULL,
  input_tokens       BIGINT NOT NULL,
  output_tokens      BIGINT NOT NULL,
  amount             BIGINT NOT NULL,
  cached_tokens      BIGINT NOT NULL DEFAULT 0,
  cache_write_tokens BIGINT NOT NULL DEFAULT 0,
  cache_saved        BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (key_id, month, model)
) /*: without rowid */;

-- What the console knows of a key beside its limits: who made it, and the reseller's own name of its tenant.
CREATE TABLE key_note (
  key_id    TEXT PRIMARY KEY REFERENCES api_key (id),
  made_by   TEXT,
  reference TEXT,
  -- The tenant's first key, of a key that was made to take its place.
  tenant_id TEXT
);
CREATE INDEX key_note_tenant ON key_note (tenant_id);

-- What a reseller adds to our price, from a month on. An empty tenant stands for all that have no price of their own.
CREATE TABLE tenant_margin (
  org_id       TEXT NOT NULL,
  tenant_id    TEXT NOT NULL,
  from_month   TEXT NOT NULL,
  -- Hundredths of a percent; null: as for all.
  basis_points BIGINT CHECK (basis_points >= 0),
  PRIMARY KEY (org_id, tenant_id, from_month)
);

-- Read-only links, by the hash of their secret. One that is revoked is deleted; the events tell of both.
CREATE TABLE tenant_link (
  id         TEXT PRIMARY KEY,
  hash       TEXT NOT NULL UNIQUE,
  org_id     TEXT NOT NULL,
  tenant_id  TEXT NOT NULL REFERENCES api_key (id),
  made_by    TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX tenant_link_tenant ON tenant_link (tenant_id);

-- What a reseller says of itself on invoices.
CREATE TABLE biller (
  org_id  TEXT PRIMARY KEY,
  profile TEXT NOT NULL,
  -- How many numbers were given. Whoever gives one locks this row.
  numbers BIGINT NOT NULL DEFAULT 0
);

-- A logo stays for the invoices that were closed with it.
CREATE TABLE biller_logo (
  org_id TEXT NOT NULL,
  hash   TEXT NOT NULL,
  -- A PNG or JPEG in base64.
  image  TEXT NOT NULL,
  PRIMARY KEY (org_id, hash)
);

-- What a reseller knows of a tenant that it bills.
CREATE TABLE tenant_billing (
  org_id    TEXT NOT NULL,
  tenant_id TEXT NOT NULL REFERENCES api_key (id),
  details   TEXT NOT NULL,
  PRIMARY KEY (org_id, tenant_id)
);

-- Invoices and credit notes of resellers to their tenants: given one number each, and stored as they were closed. What a
-- tenant owes its reseller is theirs alone; the ledger knows nothing of it.
CREATE TABLE bill (
  id          TEXT PRIMARY KEY,
  org_id      TEXT NOT NULL,
  tenant_id   TEXT NOT NULL,
  serial      BIGINT NOT NULL,
  number      TEXT NOT NULL,
  kind        TEXT NOT NULL CHECK (kind IN ('invoice', 'credit_note')),
  month       TEXT NOT NULL,
  -- What it says, as JSON; never changed.
  document    TEXT NOT NULL,
  issued_at   BIGINT NOT NULL,
  due_at      BIGINT NOT NULL,
  -- Of a credit note: the invoice that it takes back; of an invoice: the credit note that took it back.
  credits     TEXT REFERENCES bill (id),
  credited_by TEXT REFERENCES bill (id),
  paid_at     BIGINT,
  paid_ref    TEXT,
  mailed_at   BIGINT,
  UNIQUE (org_id, serial)
);
-- A month is billed once, and again when its invoice was taken back.
CREATE UNIQUE INDEX bill_once ON bill (org_id, tenant_id, month) WHERE kind = 'invoice' AND credited_by IS NULL;
CREATE INDEX bill_tenant ON bill (tenant_id);

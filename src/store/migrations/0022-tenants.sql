-- Tenants of resellers: which keys are one tenant's, the reseller's own prices, and links that show a tenant its use.
-- What a tenant is billed is a report; the ledger knows nothing of it. Runs unchanged on SQLite and PostgreSQL.

-- The tenant's first key, of a key that was made to take its place.
ALTER TABLE key_note ADD COLUMN tenant_id TEXT;
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

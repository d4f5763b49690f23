-- Who bills, and whom: what a reseller says of itself on invoices, and what it knows of its tenants. Runs unchanged on
-- SQLite and PostgreSQL.

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

CREATE TABLE tenant_billing (
  org_id    TEXT NOT NULL,
  tenant_id TEXT NOT NULL REFERENCES api_key (id),
  details   TEXT NOT NULL,
  PRIMARY KEY (org_id, tenant_id)
);

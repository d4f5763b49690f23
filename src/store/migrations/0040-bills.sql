-- Invoices and credit notes of resellers to their tenants: given one number each, and stored as they were closed. What a
-- tenant owes its reseller is theirs alone; the ledger knows nothing of it. Runs unchanged on SQLite and PostgreSQL.

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

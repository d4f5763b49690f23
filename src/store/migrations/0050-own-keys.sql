-- Keys that organisations have at vendors themselves, sealed under a data key of the organisation, which a master wraps.
-- Runs unchanged on SQLite and PostgreSQL.

CREATE TABLE own_data_key (
  org_id     TEXT PRIMARY KEY,
  -- What wraps it, such as `secret:<id of the secret>` or `aws-kms:<key>`.
  master     TEXT NOT NULL,
  wrapped    TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE own_key (
  id         TEXT PRIMARY KEY,
  org_id     TEXT NOT NULL REFERENCES own_data_key (org_id),
  vendor     TEXT NOT NULL,
  -- Bound to the organisation, the vendor and the row.
  sealed     TEXT NOT NULL,
  last_four  TEXT NOT NULL,
  -- Lower places are asked first.
  place      BIGINT NOT NULL,
  enabled    SMALLINT NOT NULL CHECK (enabled IN (0, 1)),
  added_by   TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX own_key_org ON own_key (org_id, vendor, place);

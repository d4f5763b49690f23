-- Credentials of the operator's machines: programs that act on the whole house, or on some organisations of it.
CREATE TABLE machine (
  id         TEXT PRIMARY KEY,
  -- HMAC-SHA-256 of the credential under the server's secret, in hex.
  hash       TEXT NOT NULL UNIQUE,
  label      TEXT NOT NULL,
  prefix     TEXT NOT NULL,
  -- JSON lists: rights; organisations and blocks of addresses, or null for all.
  rights     TEXT NOT NULL,
  orgs       TEXT,
  addresses  TEXT,
  rpm        BIGINT NOT NULL,
  expires_at BIGINT,
  revoked    SMALLINT NOT NULL CHECK (revoked IN (0, 1)),
  created_at BIGINT NOT NULL,
  version    BIGINT NOT NULL
);

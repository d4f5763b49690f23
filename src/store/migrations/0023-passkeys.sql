-- Passkeys of people: public keys only. Columns are named by the sign-in library. Runs unchanged on SQLite and PostgreSQL.
CREATE TABLE person_passkey (
  id            TEXT PRIMARY KEY,
  name          TEXT,
  user_id       TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  credential_id TEXT NOT NULL UNIQUE,
  public_key    TEXT NOT NULL,
  counter       BIGINT NOT NULL,
  device_type   TEXT NOT NULL,
  backed_up     SMALLINT NOT NULL,
  transports    TEXT,
  aaguid        TEXT,
  created_at    TEXT
);
CREATE INDEX person_passkey_user ON person_passkey (user_id);

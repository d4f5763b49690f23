-- Results of calls that are stored here: who may read them, what they are, and until when they are kept.
-- Runs unchanged on SQLite and PostgreSQL.

CREATE TABLE asset (
  -- 128 random bits, in hex; also the name of the bytes.
  id         TEXT PRIMARY KEY,
  key_id     TEXT NOT NULL,
  -- The call it is a result of, and which of its results.
  run_id     TEXT NOT NULL,
  place      BIGINT NOT NULL,
  -- Who made it, such as a vendor's name.
  source     TEXT NOT NULL,
  -- 0 while its bytes are written: nobody sees it, and the sweep takes it when its writer has died.
  ready      BIGINT NOT NULL,
  sha256     TEXT NOT NULL,
  bytes      BIGINT NOT NULL,
  media_type TEXT NOT NULL,
  extension  TEXT NOT NULL,
  width      BIGINT,
  height     BIGINT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
-- Each result is stored once, however often its call is taken up again.
CREATE UNIQUE INDEX asset_place ON asset (run_id, place) WHERE ready = 1;
-- With the bytes, so that their sum needs no row.
CREATE INDEX asset_expiry ON asset (expires_at, bytes);

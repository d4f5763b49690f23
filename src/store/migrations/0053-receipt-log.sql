-- The log of receipts as a tree of hashes, in tiles of 256; those of level 0 also have the digests of the entries' names, and
-- when the first and the last of them were posted, which only grows from one tile to the next. Runs unchanged on SQLite and
-- PostgreSQL.
CREATE TABLE log_tile (
  level    BIGINT NOT NULL,
  n        BIGINT NOT NULL,
  hashes   BYTEA NOT NULL,
  names    BYTEA,
  first_at BIGINT,
  last_at  BIGINT,
  -- When the oldest of those was posted that were added after their day, because a clock was set back.
  late_at  BIGINT,
  PRIMARY KEY (level, n)
);
CREATE INDEX log_tile_at ON log_tile (last_at, n) WHERE last_at IS NOT NULL;
CREATE INDEX log_tile_late ON log_tile (late_at) WHERE late_at IS NOT NULL;

-- The end of the log in one row, from its first pass on: whoever adds to it locks it. All that was posted before `until` is in,
-- from `began` on, and the sums of days before `day`.
CREATE TABLE log_end (
  id    BIGINT PRIMARY KEY,
  size  BIGINT NOT NULL,
  root  TEXT NOT NULL,
  began BIGINT NOT NULL,
  until BIGINT NOT NULL,
  day   BIGINT NOT NULL,
  at    BIGINT NOT NULL,
  token TEXT NOT NULL
);

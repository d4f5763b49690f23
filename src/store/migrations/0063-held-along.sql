-- What open calls hold that go along with their organisation while it moves: the lines of its batches. Between the books of two
-- cells it is in none of them, like the balance; in either ledger the holds are made again from these rows, each on its lease,
-- in the state that this had. Runs unchanged on SQLite and PostgreSQL.
CREATE TABLE held_along (
  call_id     TEXT PRIMARY KEY,
  lease_id    TEXT NOT NULL,
  lease_state TEXT NOT NULL,
  hold        BIGINT NOT NULL CHECK (hold >= 0),
  started_at  BIGINT NOT NULL
);
CREATE INDEX held_along_lease ON held_along (lease_id);

-- Shares of rates: what a process may use of each window of a counter without asking. Every window begins as if all shares
-- were used, and one whose share ends is counted in the window that then runs. So no window gives more than its limit.
-- Runs unchanged on SQLite and PostgreSQL.

-- `kept` is the sum of the counter's shares; `given` is the share that the last take was given, 0 if none.
ALTER TABLE rate_window ADD COLUMN kept BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rate_window ADD COLUMN given BIGINT NOT NULL DEFAULT 0;

CREATE TABLE rate_share (
  -- Never used again, so that a late message about one that ended cannot mean another.
  name     TEXT PRIMARY KEY,
  counter  TEXT NOT NULL,
  instance TEXT NOT NULL,
  share    BIGINT NOT NULL,
  recall   SMALLINT NOT NULL DEFAULT 0
);
CREATE INDEX rate_share_instance ON rate_share (instance);
-- Each heartbeat looks for the few that others wait for.
CREATE INDEX rate_share_recall ON rate_share (instance) WHERE recall = 1;
CREATE INDEX rate_share_counter ON rate_share (counter);

-- Whether the process knows shares. While one of a former version serves, none is kept.
ALTER TABLE instance ADD COLUMN shares SMALLINT NOT NULL DEFAULT 0;

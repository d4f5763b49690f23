-- Counters of rates whose window is long over are found without reading all of them.
-- Runs unchanged on SQLite and PostgreSQL.

CREATE INDEX rate_window_old ON rate_window (window_start);

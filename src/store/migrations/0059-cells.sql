-- Organisations that live in another cell, or are about to. `cell` of a key or an account names it: 'leaving <cell>' while
-- the organisation is moved, '<cell>' afterwards; null for all that is here. Runs unchanged on SQLite and PostgreSQL.
ALTER TABLE api_key ADD COLUMN cell TEXT;
ALTER TABLE account ADD COLUMN cell TEXT;
-- The cell in whose books a posting stands that came with its organisation: here it is history, which caps, invoices and
-- reports count, and moves no money.
ALTER TABLE transfer ADD COLUMN cell TEXT;
DROP VIEW posting;
CREATE VIEW posting AS
  SELECT kind, ref, debit AS account_id, -amount AS amount FROM transfer WHERE cell IS NULL
  UNION ALL
  SELECT kind, ref, credit, amount FROM transfer WHERE cell IS NULL;

-- Each move of an organisation from this cell or to it, as far as it came. `balances` is what it took along, as JSON by
-- account. Who carries it out says so again and again, until `runner_until`.
CREATE TABLE cell_move (
  id           TEXT PRIMARY KEY,
  org_id       TEXT NOT NULL,
  way          TEXT NOT NULL CHECK (way IN ('out', 'in')),
  cell         TEXT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('leaving', 'left', 'moved', 'stayed', 'arrived')),
  balances     TEXT NOT NULL DEFAULT '{}',
  runner       TEXT,
  runner_until BIGINT NOT NULL DEFAULT 0,
  began_at     BIGINT NOT NULL,
  changed_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX cell_move_under_way ON cell_move (org_id) WHERE state IN ('leaving', 'left');

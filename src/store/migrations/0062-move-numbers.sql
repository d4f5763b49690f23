-- Which move of its organisation each is, counted over all cells. Of what two cells say the higher number is true: so a cell
-- that was restored from a backup of before a move learns of it. Runs unchanged on SQLite and PostgreSQL.
ALTER TABLE cell_move ADD COLUMN number BIGINT NOT NULL DEFAULT 0;
CREATE INDEX cell_move_org ON cell_move (org_id, number);

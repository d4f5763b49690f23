-- Lines that a vendor runs in its own batch, and the parts of ours that vendors have.
-- Runs unchanged on SQLite and PostgreSQL.

CREATE TABLE batch_part (
  id         TEXT PRIMARY KEY,
  batch_id   TEXT NOT NULL,
  -- The model and the path of its lines.
  route      TEXT NOT NULL,
  -- The vendor's key that it was submitted with, and the vendor's name of it once that is known.
  deployment TEXT NOT NULL,
  ref        TEXT,
  created_at BIGINT NOT NULL,
  FOREIGN KEY (batch_id) REFERENCES batch (id) ON DELETE CASCADE
);
CREATE INDEX batch_part_batch ON batch_part (batch_id);

-- Empty for a line that is run here.
ALTER TABLE batch_line ADD COLUMN route TEXT NOT NULL DEFAULT '';
-- The part that its present try is in.
ALTER TABLE batch_line ADD COLUMN part TEXT;
CREATE INDEX batch_line_part ON batch_line (part) WHERE part IS NOT NULL;

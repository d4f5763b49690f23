-- Which attempt of a call was charged, by the lease it ran on: a call that is repeated under an Idempotency-Key keeps its
-- id, and only the attempt that was charged may answer. Null for what was recovered of a crash, and for older rows.
ALTER TABLE transfer ADD COLUMN attempt TEXT;

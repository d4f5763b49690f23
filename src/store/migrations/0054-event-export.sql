-- How far the chain of events, and its signed ends, were exported; and until when a process has the next ones.
ALTER TABLE event_chain ADD COLUMN exported BIGINT NOT NULL DEFAULT 0;
ALTER TABLE event_chain ADD COLUMN exported_head BIGINT NOT NULL DEFAULT 0;
ALTER TABLE event_chain ADD COLUMN export_until BIGINT NOT NULL DEFAULT 0;

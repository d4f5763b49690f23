-- What was charged before the key was here, by another gateway: caps count it, and no posting of ours says it.
ALTER TABLE budget ADD COLUMN brought BIGINT NOT NULL DEFAULT 0;

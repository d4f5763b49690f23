-- The version of the wallet's rules in which a budget was set, by which a ledger that went back is seen to lack it. 0 for
-- those that were set before, and for those that a default made.
ALTER TABLE tag_budget ADD COLUMN version BIGINT NOT NULL DEFAULT 0;

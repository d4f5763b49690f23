-- Leases that stay with their process. A process says with its heartbeat that it keeps them; while one of a former version
-- serves too, which ends what it finds to live for long, none does.
ALTER TABLE instance ADD COLUMN keeps SMALLINT NOT NULL DEFAULT 0;
-- Each heartbeat looks for the few leases of its process that others wait for, among the many that it has.
CREATE INDEX lease_recall ON lease (instance) WHERE recall = 1;

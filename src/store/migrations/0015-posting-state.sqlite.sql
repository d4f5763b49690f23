-- The ledger stays what it was: only the new columns are filled.
DROP TRIGGER transfer_no_update;
UPDATE transfer SET settled = note WHERE kind IN ('usage', 'writeoff') AND note IN ('late', 'recovered');
UPDATE transfer SET of_topup = substr(note, 4) WHERE kind = 'adjust' AND note LIKE 'of stripe:%';
CREATE TRIGGER transfer_no_update BEFORE UPDATE ON transfer BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

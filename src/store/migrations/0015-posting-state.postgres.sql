-- The ledger stays what it was: only the new columns are filled.
ALTER TABLE transfer DISABLE TRIGGER transfer_no_change;
UPDATE transfer SET settled = note WHERE kind IN ('usage', 'writeoff') AND note IN ('late', 'recovered');
UPDATE transfer SET of_topup = substr(note, 4) WHERE kind = 'adjust' AND note LIKE 'of stripe:%';
ALTER TABLE transfer ENABLE TRIGGER transfer_no_change;

-- A process of the version before, while it is replaced, writes and reads the note only: what it writes gets its columns
-- here, and this version writes the note as well. A later migration drops the trigger.
CREATE FUNCTION posting_of_older_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.kind = 'adjust' THEN NEW.of_topup := substr(NEW.note, 4); ELSE NEW.settled := NEW.note; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER transfer_of_older_version BEFORE INSERT ON transfer FOR EACH ROW
  WHEN (NEW.note IS NOT NULL AND NEW.settled IS NULL AND NEW.of_topup IS NULL
    AND (NEW.kind IN ('usage', 'writeoff') AND NEW.note IN ('late', 'recovered')
      OR NEW.kind = 'adjust' AND NEW.note LIKE 'of stripe:%'))
  EXECUTE FUNCTION posting_of_older_version();

-- The ledger is append-only.
CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql
  AS $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$;
CREATE TRIGGER transfer_no_change BEFORE UPDATE OR DELETE ON transfer
  FOR EACH ROW EXECUTE FUNCTION refuse_ledger_change();
CREATE TRIGGER transfer_no_truncate BEFORE TRUNCATE ON transfer
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();

-- Room for updates in place: these rows change with every commit or lease.
ALTER TABLE lease SET (fillfactor = 50);
ALTER TABLE budget SET (fillfactor = 70);
ALTER TABLE inflight SET (fillfactor = 70);

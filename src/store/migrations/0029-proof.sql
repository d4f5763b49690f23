-- Proof that who uses an account owns its e-mail address: when, how and by what. Links that prove it say so.
-- Whoever has an account already proves the address by the next mailed link or company sign-in. Runs unchanged on SQLite and PostgreSQL.

ALTER TABLE person ADD COLUMN proved_at TEXT;
ALTER TABLE person ADD COLUMN proved_how TEXT;
ALTER TABLE person ADD COLUMN proved_by TEXT;
ALTER TABLE person_verification ADD COLUMN proves_how TEXT;
ALTER TABLE person_verification ADD COLUMN proves_by TEXT;

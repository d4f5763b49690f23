-- A key that was made in place of an older one is above that one and all below it: its limits bind them, and it governs
-- them. So `ancestors` and `key_line` name it too, and whose children they are is kept apart where that differs. Runs
-- unchanged on SQLite and PostgreSQL.

ALTER TABLE api_key ADD COLUMN parents TEXT;

-- When a session ends that began at another cell, however it is used: an ISO text, as the sign-in library writes times. Other
-- sessions have none.
ALTER TABLE person_session ADD COLUMN ends_at TEXT;

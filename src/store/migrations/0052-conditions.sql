-- Conditions that a key asks of where its calls go, as a JSON list, and those that its creator set.
ALTER TABLE api_key ADD COLUMN requires TEXT;
ALTER TABLE api_key ADD COLUMN granted_requires TEXT;

-- What is looked for in the texts of a key's calls, as a JSON list; null if nothing is.
ALTER TABLE api_key ADD COLUMN guardrails TEXT;

-- When a company's provider was last asked about a person, and when it last said yes: milliseconds since 1970. `refresh_token`
-- of that row is the sealed refresh token, and empty once the provider has refused.
ALTER TABLE person_account ADD COLUMN asked_at BIGINT;
ALTER TABLE person_account ADD COLUMN answered_at BIGINT;

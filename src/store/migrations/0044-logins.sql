-- Sign-ins of agents by the device flow (RFC 8628): asked for by an agent, approved by a person, then good for as long as
-- its refresh token. All of a person in an organisation use one key. Only keyed hashes of the device code and of the refresh token are stored.
CREATE TABLE login (
  device_hash TEXT PRIMARY KEY,
  -- Names the sign-in in its access tokens.
  id TEXT NOT NULL UNIQUE,
  -- What the person compares or types.
  user_code TEXT NOT NULL UNIQUE,
  -- Which client asked, and from which address.
  surface TEXT NOT NULL,
  address TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('asked', 'approved', 'denied', 'used')),
  asked_at BIGINT NOT NULL,
  -- Of the request while nobody used it, then of the sign-in.
  ends_at BIGINT NOT NULL,
  polled_at BIGINT,
  person_id TEXT,
  org_id TEXT,
  key_id TEXT REFERENCES api_key (id),
  refresh_hash TEXT UNIQUE
);
CREATE INDEX login_end ON login (ends_at);
CREATE INDEX login_person ON login (org_id, person_id);
-- Sign-ins that were ended while an access token was valid.
ALTER TABLE api_key ADD COLUMN ended_logins TEXT;

-- What an organisation tells the agents of its people: one document each, in the form of managed-settings.json.
CREATE TABLE agent_settings (
  org_id TEXT PRIMARY KEY,
  settings TEXT NOT NULL,
  changed_at BIGINT NOT NULL
);

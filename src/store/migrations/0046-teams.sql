-- Teams of an organisation. A team is a sub-wallet with people: its keys are those that are bound to the sub-wallet, its budget is the
-- ceiling of that, and it ends with it.
CREATE TABLE team (
  id TEXT PRIMARY KEY REFERENCES sub_wallet (id),
  org_id TEXT NOT NULL,
  -- JSON: what agents of its people are told, in place of what the organisation tells them; or null.
  settings TEXT
);
CREATE INDEX team_org ON team (org_id);

-- The role of a person in a team.
CREATE TABLE team_member (
  team_id TEXT NOT NULL REFERENCES team (id),
  person_id TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  role TEXT NOT NULL CHECK (role IN ('admin', 'member')),
  joined_at BIGINT NOT NULL,
  PRIMARY KEY (team_id, person_id)
);
CREATE INDEX team_member_person ON team_member (person_id);

-- What groups of an organisation's directory give its people: one JSON document each.
CREATE TABLE group_rule (
  org_id TEXT PRIMARY KEY,
  rule TEXT NOT NULL
);

-- Users and groups as an organisation's directory sends them (SCIM, RFC 7643).
CREATE TABLE scim_resource (
  id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('User', 'Group')),
  -- The userName or displayName in lower case: of its kind only one has it.
  name TEXT NOT NULL,
  -- Of a user who is active, or was.
  person_id TEXT,
  active SMALLINT NOT NULL CHECK (active IN (0, 1)),
  -- JSON: its attributes, without members and what the server gives.
  attributes TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  version BIGINT NOT NULL,
  UNIQUE (org_id, kind, name)
);

CREATE TABLE scim_member (
  group_id TEXT NOT NULL REFERENCES scim_resource (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL REFERENCES scim_resource (id) ON DELETE CASCADE,
  PRIMARY KEY (group_id, user_id)
);
CREATE INDEX scim_member_user ON scim_member (user_id);

-- People of the console, what they may do, and what they did. Instants of the sign-in library are ISO texts in UTC, as it
-- writes them; ours are milliseconds since 1970 UTC. Runs unchanged on SQLite and PostgreSQL.

-- Columns of the first six tables are named by the sign-in library.
CREATE TABLE person (
  id                 TEXT PRIMARY KEY,
  name               TEXT NOT NULL,
  email              TEXT NOT NULL UNIQUE,
  email_verified     SMALLINT NOT NULL,
  image              TEXT,
  -- Runs the server: sees all organisations, and may act for each.
  operator           SMALLINT NOT NULL DEFAULT 0 CHECK (operator IN (0, 1)),
  two_factor_enabled SMALLINT,
  created_at         TEXT NOT NULL,
  updated_at         TEXT NOT NULL
);

CREATE TABLE person_session (
  id         TEXT PRIMARY KEY,
  token      TEXT NOT NULL UNIQUE,
  user_id    TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  expires_at TEXT NOT NULL,
  ip_address TEXT,
  user_agent TEXT,
  -- The organisation that the session looks at; ours.
  org_id     TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX person_session_user ON person_session (user_id);

CREATE TABLE person_account (
  id                       TEXT PRIMARY KEY,
  account_id               TEXT NOT NULL,
  provider_id              TEXT NOT NULL,
  user_id                  TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  access_token             TEXT,
  refresh_token            TEXT,
  id_token                 TEXT,
  access_token_expires_at  TEXT,
  refresh_token_expires_at TEXT,
  scope                    TEXT,
  -- A slow hash.
  password                 TEXT,
  created_at               TEXT NOT NULL,
  updated_at               TEXT NOT NULL
);
CREATE INDEX person_account_user ON person_account (user_id);

-- One-time links, by the hash of their secret, and what else is proved once.
CREATE TABLE person_verification (
  id         TEXT PRIMARY KEY,
  identifier TEXT NOT NULL,
  value      TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX person_verification_identifier ON person_verification (identifier);

-- Secrets of TOTP and the hashes of backup codes, encrypted by the library.
CREATE TABLE person_totp (
  id           TEXT PRIMARY KEY,
  secret       TEXT NOT NULL,
  backup_codes TEXT NOT NULL,
  user_id      TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  verified     SMALLINT,
  failed_verification_count BIGINT,
  locked_until TEXT
);
CREATE INDEX person_totp_user ON person_totp (user_id);

CREATE TABLE member (
  org_id     TEXT NOT NULL,
  person_id  TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  role       TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'billing', 'developer', 'viewer')),
  created_at BIGINT NOT NULL,
  PRIMARY KEY (org_id, person_id)
);
CREATE INDEX member_person ON member (person_id);

-- Attempts to sign in, by address and by account, in windows.
CREATE TABLE sign_in_attempt (
  what         TEXT PRIMARY KEY,
  window_start BIGINT NOT NULL,
  attempts     BIGINT NOT NULL
);

-- What people and commands did to money, keys, limits and people; append-only.
CREATE TABLE event (
  id         TEXT PRIMARY KEY,
  at         BIGINT NOT NULL,
  org_id     TEXT NOT NULL,
  actor_kind TEXT NOT NULL CHECK (actor_kind IN ('person', 'command')),
  actor_id   TEXT NOT NULL,
  actor_name TEXT NOT NULL,
  -- An operator who acted for the organisation.
  operator   SMALLINT NOT NULL CHECK (operator IN (0, 1)),
  address    TEXT,
  what       TEXT NOT NULL,
  subject    TEXT NOT NULL,
  -- JSON, or null.
  before     TEXT,
  after      TEXT
);
CREATE INDEX event_org ON event (org_id, id);

-- What the console knows of a key beside its limits: who made it, and the reseller's own name of its tenant.
CREATE TABLE key_note (
  key_id    TEXT PRIMARY KEY REFERENCES api_key (id),
  made_by   TEXT,
  reference TEXT
);
CREATE INDEX api_key_org ON api_key (org_id);

-- Reports read sums: by organisation and hour, and by key and day. Made from the ledger up to a whole hour in the past (the
-- setting `rolled_up_until`); what came later is summed from the ledger itself. Amounts are charges less refunds.
CREATE TABLE roll_up_hour (
  org_id        TEXT NOT NULL,
  hour          BIGINT NOT NULL,
  model         TEXT NOT NULL,
  vendor        TEXT NOT NULL,
  ended         TEXT NOT NULL,
  requests      BIGINT NOT NULL,
  input_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  amount        BIGINT NOT NULL,
  PRIMARY KEY (org_id, hour, model, vendor, ended)
) /*: without rowid */;
CREATE TABLE roll_up_day (
  key_id        TEXT NOT NULL,
  day           BIGINT NOT NULL,
  model         TEXT NOT NULL,
  vendor        TEXT NOT NULL,
  ended         TEXT NOT NULL,
  requests      BIGINT NOT NULL,
  input_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  amount        BIGINT NOT NULL,
  PRIMARY KEY (key_id, day, model, vendor, ended)
) /*: without rowid */;

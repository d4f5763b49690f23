-- People and machines, what they may do, and what they did. Instants of the sign-in library are ISO texts in UTC, as it
-- writes them; ours are milliseconds since 1970 UTC.

-- Columns of the tables `person…` are named by the sign-in library.
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
  updated_at         TEXT NOT NULL,
  -- Proof that who uses an account owns its e-mail address: when, how and by what. Links that prove it say so.
  proved_at          TEXT,
  proved_how         TEXT,
  proved_by          TEXT
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
  updated_at TEXT NOT NULL,
  proves_how TEXT,
  proves_by  TEXT
);
CREATE INDEX person_verification_identifier ON person_verification (identifier);

-- Secrets of TOTP and the hashes of backup codes, encrypted by the library.
CREATE TABLE person_totp (
  id                        TEXT PRIMARY KEY,
  secret                    TEXT NOT NULL,
  backup_codes              TEXT NOT NULL,
  user_id                   TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  verified                  SMALLINT,
  failed_verification_count BIGINT,
  locked_until              TEXT
);
CREATE INDEX person_totp_user ON person_totp (user_id);

-- Passkeys of people: public keys only.
CREATE TABLE person_passkey (
  id            TEXT PRIMARY KEY,
  name          TEXT,
  user_id       TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  credential_id TEXT NOT NULL UNIQUE,
  public_key    TEXT NOT NULL,
  counter       BIGINT NOT NULL,
  device_type   TEXT NOT NULL,
  backed_up     SMALLINT NOT NULL,
  transports    TEXT,
  aaguid        TEXT,
  created_at    TEXT
);
CREATE INDEX person_passkey_user ON person_passkey (user_id);

-- The role of a person in an organisation.
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

-- Credentials of the operator's machines: programs that act on the whole house, or on some organisations of it.
CREATE TABLE machine (
  id         TEXT PRIMARY KEY,
  -- HMAC-SHA-256 of the credential under the server's secret, in hex.
  hash       TEXT NOT NULL UNIQUE,
  label      TEXT NOT NULL,
  prefix     TEXT NOT NULL,
  -- JSON lists: rights; organisations and blocks of addresses, or null for all.
  rights     TEXT NOT NULL,
  orgs       TEXT,
  addresses  TEXT,
  rpm        BIGINT NOT NULL,
  expires_at BIGINT,
  revoked    SMALLINT NOT NULL CHECK (revoked IN (0, 1)),
  created_at BIGINT NOT NULL,
  version    BIGINT NOT NULL,
  -- Which secret the hash was made by, as for keys.
  hashed_by  TEXT
);

-- What anybody did to money, keys, limits and people; append-only.
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
  after      TEXT,
  -- Keys, machines and the server itself are `command` above; this column says what they are.
  actor_as   TEXT
);
CREATE INDEX event_org ON event (org_id, id);

-- Alerts: rules that watch money and failures, where they tell of it, and what was told. Then the chain of events.
-- Runs unchanged on SQLite and PostgreSQL.

CREATE TABLE alert_channel (
  id         TEXT PRIMARY KEY,
  -- 'house' for what the operator watches.
  org_id     TEXT NOT NULL,
  name       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  -- An address, or the routing key of PagerDuty.
  target     TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX alert_channel_org ON alert_channel (org_id, id);

CREATE TABLE alert_rule (
  id         TEXT PRIMARY KEY,
  org_id     TEXT NOT NULL,
  name       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  -- The key, person, sub-wallet or vendor that it watches.
  subject    TEXT,
  amount     BIGINT,
  -- JSON lists: percents, of which 0 stands for the forecast, and ids of channels.
  steps      TEXT NOT NULL,
  channels   TEXT NOT NULL,
  minutes    BIGINT,
  created_at BIGINT NOT NULL,
  -- When it is looked at again; whoever looks moves it on.
  next_at    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX alert_rule_org ON alert_rule (org_id, id);
CREATE INDEX alert_rule_next ON alert_rule (next_at);

-- A step that was reached: once in a period, whichever process sees it first.
CREATE TABLE alert (
  id          TEXT PRIMARY KEY,
  rule_id     TEXT NOT NULL,
  period      TEXT NOT NULL,
  step        BIGINT NOT NULL,
  at          BIGINT NOT NULL,
  -- The end of the period; null for one without an end.
  ends_at     BIGINT,
  resolved_at BIGINT,
  UNIQUE (rule_id, period, step)
);
CREATE INDEX alert_open ON alert (rule_id) WHERE resolved_at IS NULL;
CREATE INDEX alert_end ON alert (ends_at) WHERE ends_at IS NOT NULL;

-- What is sent to a channel, and the log of that.
CREATE TABLE alert_delivery (
  id         TEXT PRIMARY KEY,
  org_id     TEXT NOT NULL,
  channel_id TEXT NOT NULL,
  alert_id   TEXT NOT NULL,
  what       TEXT NOT NULL CHECK (what IN ('reached', 'resolved', 'test')),
  message    TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('due', 'sent', 'given_up')),
  tries      BIGINT NOT NULL DEFAULT 0,
  next_at    BIGINT NOT NULL DEFAULT 0,
  error      TEXT,
  at         BIGINT NOT NULL,
  sent_at    BIGINT
);
CREATE INDEX alert_delivery_org ON alert_delivery (org_id, id);
CREATE INDEX alert_delivery_due ON alert_delivery (next_at) WHERE state = 'due';
CREATE INDEX alert_delivery_old ON alert_delivery (at);
CREATE INDEX alert_delivery_alert ON alert_delivery (alert_id);
CREATE INDEX failed_call_at ON failed_call (at);

-- Events in a chain: `seq` counts them in the order in which they were sealed, after they were committed, and `hash` covers
-- the event and the hash before. What names people is under a digest of its own with a salt, which goes when they are forgotten.
ALTER TABLE event ADD COLUMN seq BIGINT;
ALTER TABLE event ADD COLUMN hash TEXT;
ALTER TABLE event ADD COLUMN salt TEXT;
ALTER TABLE event ADD COLUMN named TEXT;
CREATE UNIQUE INDEX event_seq ON event (seq) WHERE seq IS NOT NULL;
CREATE INDEX event_unsealed ON event (id) WHERE seq IS NULL;

-- The end of the chain in one row, from the first event that was sealed on: whoever seals locks it.
CREATE TABLE event_chain (
  id   BIGINT PRIMARY KEY,
  seq  BIGINT NOT NULL,
  hash TEXT NOT NULL
);

-- Ends of the chain as they were signed, one an hour in which something happened.
CREATE TABLE event_head (
  seq   BIGINT PRIMARY KEY,
  at    BIGINT NOT NULL,
  token TEXT NOT NULL
);

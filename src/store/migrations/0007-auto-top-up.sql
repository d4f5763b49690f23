-- Wallets that are topped up by themselves, from a payment method that their owner saved at Stripe.

-- The saved method, by Stripe's ids only, and how the wallet's rule stands: `below` is null without one; after a
-- day's or a month's maximum it waits until the next; `paused` says why it waits for its owner, who is told as of other alerts.
CREATE TABLE auto_top_up (
  wallet_id     TEXT PRIMARY KEY REFERENCES account (id),
  customer      TEXT,
  method        TEXT,
  method_at     BIGINT NOT NULL DEFAULT 0,
  below         BIGINT,
  waits_until   BIGINT NOT NULL DEFAULT 0,
  paused        TEXT,
  alert_state   TEXT NOT NULL DEFAULT 'done' CHECK (alert_state IN ('due', 'done')),
  alert_id      TEXT,
  alert_tries   BIGINT NOT NULL DEFAULT 0,
  alert_next_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX auto_top_up_on ON auto_top_up (wallet_id) WHERE below IS NOT NULL AND method IS NOT NULL AND paused IS NULL;
CREATE INDEX auto_top_up_alert ON auto_top_up (alert_next_at) WHERE alert_state = 'due';

-- One payment of such a rule, written before Stripe is asked; its id is the idempotency key, so whoever asks asks for the
-- same payment. due: Stripe is to be asked, or asked again. paid: Stripe said so, its event has not come yet.
CREATE TABLE top_up (
  id        TEXT PRIMARY KEY REFERENCES checkout (id),
  wallet_id TEXT NOT NULL REFERENCES account (id),
  customer  TEXT NOT NULL,
  method    TEXT NOT NULL,
  amount    BIGINT NOT NULL CHECK (amount > 0),
  day       TEXT NOT NULL,
  state     TEXT NOT NULL DEFAULT 'due'
    CHECK (state IN ('due', 'paid', 'credited', 'declined', 'stopped', 'unknown')),
  tries     BIGINT NOT NULL DEFAULT 0,
  next_at   BIGINT NOT NULL,
  made_at   BIGINT NOT NULL
);
-- A wallet has one at a time.
CREATE UNIQUE INDEX top_up_open ON top_up (wallet_id) WHERE state IN ('due', 'paid');
CREATE INDEX top_up_due ON top_up (next_at) WHERE state IN ('due', 'paid');
CREATE INDEX top_up_day ON top_up (wallet_id, day);

-- Money from outside, money on credit, and money that is given.

-- Post-paid: a credit line is an account beside a wallet that may fall to minus its limit; minus its balance is owed.
CREATE TABLE credit_line (
  account_id TEXT PRIMARY KEY REFERENCES account (id),
  wallet_id  TEXT NOT NULL UNIQUE REFERENCES account (id),
  lim        BIGINT NOT NULL CHECK (lim >= 0),
  net_days   BIGINT NOT NULL CHECK (net_days BETWEEN 0 AND 365),
  opened     TEXT NOT NULL
);

-- One a credit line and month, in order and without gaps. What is less than a cent is carried to the next one.
CREATE TABLE invoice (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES credit_line (account_id),
  serial     BIGINT NOT NULL,
  month      TEXT NOT NULL,
  ends_at    BIGINT NOT NULL,
  brought    BIGINT NOT NULL,
  used       BIGINT NOT NULL,
  total      BIGINT NOT NULL,
  carried    BIGINT NOT NULL,
  issued_at  BIGINT NOT NULL,
  due_at     BIGINT NOT NULL,
  paid_at    BIGINT,
  paid_ref   TEXT,
  UNIQUE (account_id, month),
  UNIQUE (account_id, serial),
  CONSTRAINT invoice_adds_up CHECK (brought + used = total + carried),
  CONSTRAINT invoice_in_cents CHECK (total >= 0 AND total % 10000000 = 0),
  CONSTRAINT invoice_paid CHECK ((paid_at IS NULL) = (paid_ref IS NULL))
);

-- What somebody was sent to Stripe to pay: for a wallet, or for an invoice of its credit line.
CREATE TABLE checkout (
  id         TEXT PRIMARY KEY,
  wallet_id  TEXT NOT NULL REFERENCES account (id),
  invoice_id TEXT REFERENCES invoice (id),
  amount     BIGINT NOT NULL CHECK (amount > 0),
  paid_ref   TEXT UNIQUE,
  created_at BIGINT NOT NULL
);

-- What refunds and disputes of a payment by Stripe take back of it, each by its own id; `outstanding` is what has not come
-- back to us and only ever falls. Together they may ask for more than the payment brought in; its wallet gives no more.
CREATE TABLE taken_back (
  id          TEXT PRIMARY KEY,
  topup_ref   TEXT NOT NULL,
  outstanding BIGINT NOT NULL CHECK (outstanding >= 0)
);
CREATE INDEX taken_back_topup ON taken_back (topup_ref);

-- Wallets that are topped up by themselves: the payment method that their owner saved at Stripe, by its ids only, and how the wallet's rule stands: `below` is null without one; after a
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

-- Payments by x402: one row a payment, which pays for one request out of an account of its own, or an invoice (`invoice_id`).
-- `id` is <network>:<asset>:<payer>:<nonce> in lower case: what the token's contract takes just once. `sent` is what the
-- facilitator was given, kept only while it is not known whether the payment went through. `credit_to` is the wallet of
-- the bearer, if there was one; `change_to` is where the rest went, once.
-- With the scheme `upto` a payment begins as `authorized`: nothing has moved, `amount` is the most that may, and the account may
-- fall to minus that. When the call is charged, `amount` becomes what is settled. A charge that the payer's money did not
-- cover in the end is `lost`: the house paid it. After `expires_at` the chain takes it no more.
-- Its constraints keep the names that they were born with.
CREATE TABLE x402_payment (
  id          TEXT CONSTRAINT x402_payment_new_pkey PRIMARY KEY,
  call_id     TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  state       TEXT NOT NULL CONSTRAINT x402_payment_new_state_check
    CHECK (state IN ('authorized', 'settling', 'settled', 'failed', 'lost')),
  scheme      TEXT NOT NULL CONSTRAINT x402_payment_new_scheme_check CHECK (scheme IN ('exact', 'upto')),
  account_id  TEXT NOT NULL,
  amount      BIGINT NOT NULL,
  payer       TEXT NOT NULL,
  invoice_id  TEXT CONSTRAINT x402_payment_new_invoice_id_fkey REFERENCES invoice (id),
  credit_to   TEXT,
  change_to   TEXT,
  tx          TEXT,
  reason      TEXT,
  sent        TEXT,
  created_at  BIGINT NOT NULL,
  settled_at  BIGINT,
  next_try    BIGINT NOT NULL,
  expires_at  BIGINT,
  tries       BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT x402_amount CHECK (amount > 0)
);
CREATE INDEX x402_payment_open ON x402_payment (next_try) WHERE state IN ('authorized', 'settling');
CREATE INDEX x402_payment_change ON x402_payment (next_try)
  WHERE state = 'settled' AND change_to IS NULL AND credit_to IS NOT NULL;
CREATE INDEX x402_payment_call ON x402_payment (call_id);
-- What a payer has authorised and not paid yet, and has failed to pay.
CREATE INDEX x402_payment_upto ON x402_payment (payer) WHERE state IN ('authorized', 'settling', 'lost') AND scheme = 'upto';

-- One claim per network address; `origin` is a keyed hash of it, so that no address is kept.
CREATE TABLE trial_claim (
  origin     TEXT PRIMARY KEY,
  wallet_id  TEXT NOT NULL,
  key_id     TEXT NOT NULL,
  attempt    TEXT,
  amount     BIGINT NOT NULL,
  claimed_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  ended      SMALLINT NOT NULL DEFAULT 0 CHECK (ended IN (0, 1))
);
CREATE INDEX trial_claim_end ON trial_claim (expires_at) WHERE ended = 0;

-- What all trials of a day were given together.
CREATE TABLE trial_day (
  day     TEXT PRIMARY KEY,
  granted BIGINT NOT NULL,
  lim     BIGINT NOT NULL,
  CONSTRAINT trial_day_kept CHECK (granted >= 0 AND granted <= lim)
);

-- A code for each account that asked for one, and the one claim that an account may make.
CREATE TABLE referral_code (
  code      TEXT PRIMARY KEY,
  wallet_id TEXT NOT NULL UNIQUE REFERENCES account (id)
);

CREATE TABLE referral_claim (
  org_id          TEXT PRIMARY KEY,
  wallet_id       TEXT NOT NULL,
  referrer_id     TEXT NOT NULL,
  referrer_amount BIGINT NOT NULL,
  claimant_amount BIGINT NOT NULL,
  claimed_at      BIGINT NOT NULL
);
CREATE INDEX referral_claim_referrer ON referral_claim (referrer_id);

-- One review of a skill by an account; a second one replaces the first.
CREATE TABLE review (
  id         TEXT NOT NULL,
  skill      TEXT NOT NULL,
  org_id     TEXT NOT NULL,
  rating     BIGINT NOT NULL CHECK (rating BETWEEN 1 AND 5),
  comment    TEXT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (skill, org_id)
);
CREATE INDEX review_skill ON review (skill, created_at);

-- Channels of x402 payers: a deposit on a chain, and what the vouchers under it were charged. All amounts are nano-USD.
CREATE TABLE x402_channel (
  -- `<network>:<channel>`, the channel as the contract counts it.
  id            TEXT PRIMARY KEY,
  payer         TEXT NOT NULL,
  asset         TEXT NOT NULL,
  account_id    TEXT NOT NULL,
  -- What one unit of the token is worth.
  unit          BIGINT NOT NULL,
  -- What makes the channel, as JSON: a claim needs it.
  config        TEXT NOT NULL,
  -- As the chain last said: the deposit, with everything that was claimed of it.
  balance       BIGINT NOT NULL,
  leaving_at    BIGINT,
  seen_at       BIGINT NOT NULL,
  -- What had been claimed when this ledger first saw the channel.
  began         BIGINT NOT NULL,
  charged       BIGINT NOT NULL,
  claimed       BIGINT NOT NULL,
  -- Charged and never to be had: the payer had left with it.
  lost          BIGINT NOT NULL DEFAULT 0,
  -- The newest voucher that was charged.
  signed        BIGINT NOT NULL DEFAULT 0,
  signature     TEXT,
  -- The payment whose call has the channel now.
  pending       TEXT,
  charged_at    BIGINT,
  next_try      BIGINT NOT NULL DEFAULT 0,
  created_at    BIGINT NOT NULL,
  CONSTRAINT x402_channel_sums CHECK (began >= 0 AND claimed >= began AND lost >= 0 AND charged >= claimed + lost)
);
CREATE INDEX x402_channel_unclaimed ON x402_channel (charged_at) WHERE charged_at IS NOT NULL;
-- The channel whose voucher a payment is.
ALTER TABLE x402_payment ADD COLUMN channel_id TEXT;
CREATE INDEX x402_payment_channel ON x402_payment (channel_id) WHERE channel_id IS NOT NULL;

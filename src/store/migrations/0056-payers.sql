-- A payer who signs in is shown its own channels.
CREATE INDEX x402_channel_payer ON x402_channel (payer);

-- Keys that sign receipts. `public_key` is for everyone; the private half is sealed under the server's secret. A key is
-- published before it signs, so that whoever keeps a copy of the key set has it in time.
CREATE TABLE receipt_key (
  n          BIGINT PRIMARY KEY,
  kid        TEXT NOT NULL UNIQUE,
  public_key TEXT NOT NULL,
  sealed     TEXT NOT NULL,
  signs_from BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);

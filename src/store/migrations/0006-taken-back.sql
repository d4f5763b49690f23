-- What refunds and disputes of a payment by Stripe take back of it, each by its own id; `outstanding` is what has not come
-- back to us and only ever falls. Together they may ask for more than the payment brought in; its wallet gives no more.
CREATE TABLE taken_back (
  id          TEXT PRIMARY KEY,
  topup_ref   TEXT NOT NULL,
  outstanding BIGINT NOT NULL CHECK (outstanding >= 0)
);
CREATE INDEX taken_back_topup ON taken_back (topup_ref);
INSERT INTO taken_back (id, topup_ref, outstanding)
  SELECT substr(t.ref, 8), substr(t.note, 4), CASE WHEN EXISTS (SELECT 1 FROM transfer b
      WHERE b.kind = 'adjust' AND b.ref = t.ref || ':back') THEN 0 ELSE t.amount END
  FROM transfer t WHERE t.kind = 'adjust' AND t.credit = 'cash' AND t.note LIKE 'of stripe:%';

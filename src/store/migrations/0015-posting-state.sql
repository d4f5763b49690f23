-- What the program decides on stands in columns: until now it was read from the note of a posting, which is for people.
-- `settled` says how a call was charged or written off if not by its own process in time: 'late' after its lease was closed,
-- 'recovered' from its last checkpoint. `of_topup` names the payment of which an adjustment is a refund or dispute.
ALTER TABLE transfer ADD COLUMN settled TEXT;
ALTER TABLE transfer ADD COLUMN of_topup TEXT;

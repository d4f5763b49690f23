-- The alert that a wallet's own rules ask for, as a rule and a channel with the wallet's id. What was told stays told.
INSERT INTO alert_channel (id, org_id, name, kind, target, created_at)
SELECT a.id, a.org_id, 'Warn below', 'webhook', json(w.rules)->>'alertWebhookUrl', w.changed_at
FROM wallet_rules w JOIN account a ON a.id = w.wallet_id
WHERE json(w.rules)->>'alertWebhookUrl' IS NOT NULL;

INSERT INTO alert_rule (id, org_id, name, kind, subject, amount, steps, channels, created_at)
SELECT a.id, a.org_id, 'Warn below', 'balance', a.id, cast(json(w.rules)->>'alertBelow' AS BIGINT), '[100]',
  CASE WHEN json(w.rules)->>'alertWebhookUrl' IS NULL THEN '[]' ELSE '["' || a.id || '"]' END, w.changed_at
FROM wallet_rules w JOIN account a ON a.id = w.wallet_id
WHERE json(w.rules)->>'alertWebhookUrl' IS NOT NULL OR json(w.rules)->>'alertBelow' IS NOT NULL;

INSERT INTO alert (id, rule_id, period, step, at, ends_at)
SELECT w.wallet_id || ':low', w.wallet_id, 'before', 100, w.changed_at, w.changed_at
FROM wallet_rules w WHERE w.alert_below IS NOT NULL AND w.alert_state <> 'armed';

INSERT INTO alert (id, rule_id, period, step, at, ends_at)
SELECT r.id || ':paused', r.id, 'before', -1, r.created_at, r.created_at
FROM auto_top_up t JOIN alert_rule r ON r.id = t.wallet_id WHERE t.paused IS NOT NULL AND t.alert_state = 'done';

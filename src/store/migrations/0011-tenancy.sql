-- Who may manage the wallet and keys of their own, and keys that were disabled together with the key above them.

ALTER TABLE api_key ADD COLUMN can_manage SMALLINT NOT NULL DEFAULT 0 CHECK (can_manage IN (0, 1));

-- The key above this one with which it was disabled, and whether it had switched itself off before ('self').
ALTER TABLE api_key ADD COLUMN disabled_by TEXT;
ALTER TABLE api_key ADD COLUMN disabled_before TEXT;
CREATE INDEX api_key_disabled_by ON api_key (disabled_by) WHERE disabled_by IS NOT NULL;

-- Every wallet keeps a key that manages it: its oldest, one that is not switched off where there is one. So do the keys
-- that manage something already: those with children, and makers of sub-wallets.
UPDATE api_key SET can_manage = 1
WHERE deleted = 0 AND trial_until IS NULL AND (
  parent_id IS NULL AND sub_id IS NULL AND NOT EXISTS (
    SELECT 1 FROM api_key o
    WHERE o.wallet_id = api_key.wallet_id AND o.deleted = 0 AND o.parent_id IS NULL AND o.sub_id IS NULL
      AND (CASE WHEN o.disabled_reason IN ('self', 'operator') THEN 1 ELSE 0 END, o.created_at, o.id)
        < (CASE WHEN api_key.disabled_reason IN ('self', 'operator') THEN 1 ELSE 0 END, api_key.created_at, api_key.id))
  OR EXISTS (SELECT 1 FROM api_key c WHERE c.parent_id = api_key.id AND c.deleted = 0)
  OR EXISTS (SELECT 1 FROM sub_wallet s WHERE s.maker_id = api_key.id AND s.deleted_at IS NULL));

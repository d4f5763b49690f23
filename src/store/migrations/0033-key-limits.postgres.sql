-- This week and the last are counted from what was posted and leased, so that a cap set today knows what was spent.
UPDATE lease SET week = to_char(date_trunc('week', CAST(day AS date)), 'YYYY-MM-DD') || '/' || to_char(date_trunc('week', CAST(day AS date)) + interval '6 days', 'YYYY-MM-DD') WHERE day >= to_char(date_trunc('week', now() AT TIME ZONE 'utc') - interval '7 days', 'YYYY-MM-DD');
INSERT INTO budget (scope, owner_id, week, day, keep_until, wallet_id, used, held, calls)
  SELECT 'key:' || k.id || ':' || coalesce(p.week, p.day), k.id, p.week, p.day, (CAST(CAST(coalesce(substr(p.week, 12), p.day) AS date) - date '1970-01-01' AS bigint) + 9) * 86400000, k.wallet_id,
    CAST(sum(p.used) AS BIGINT), CAST(sum(p.held) AS BIGINT), CAST(sum(p.calls) AS BIGINT)
  FROM (
    SELECT m.key_id, CASE f.form WHEN 'week' THEN to_char(date_trunc('week', CAST(m.day AS date)), 'YYYY-MM-DD') || '/' || to_char(date_trunc('week', CAST(m.day AS date)) + interval '6 days', 'YYYY-MM-DD') END AS week,
      CASE f.form WHEN 'day' THEN m.day END AS day, m.used, m.held, m.calls
    FROM (
      SELECT t.key_id, t.day, CASE t.kind WHEN 'usage' THEN t.amount ELSE -t.amount END AS used, 0 AS held,
        CASE t.kind WHEN 'usage' THEN 1 ELSE 0 END AS calls
      FROM transfer t WHERE t.kind IN ('usage', 'refund') AND t.key_id IS NOT NULL AND t.day >= to_char(date_trunc('week', now() AT TIME ZONE 'utc') - interval '7 days', 'YYYY-MM-DD')
      UNION ALL
      SELECT l.key_id, l.day, -l.used, l.granted, -l.calls FROM lease l WHERE l.state <> 'closed' AND l.week IS NOT NULL
    ) m CROSS JOIN (SELECT 'day' AS form UNION ALL SELECT 'week') f
  ) p JOIN key_line n ON n.key_id = p.key_id JOIN api_key k ON k.id = n.owner_id
  GROUP BY k.id, k.wallet_id, p.week, p.day;

-- Details of calls lie in parts, by month of the call's id, which begins with its time: a month that is over goes by dropping its
-- part. Here the table becomes the one part for all ids, which reads no row; servers make the months.

-- Behind a long report this gives up soon and asks again, so that no call waits behind it.
DO $$ BEGIN
  SET LOCAL lock_timeout = '200ms';
  FOR attempt IN 1..60 LOOP
    BEGIN
      LOCK TABLE usage_detail IN ACCESS EXCLUSIVE MODE;
      SET LOCAL lock_timeout = DEFAULT;
      RETURN;
    EXCEPTION WHEN lock_not_available THEN
      PERFORM pg_sleep(0.5);
    END;
  END LOOP;
  RAISE EXCEPTION 'a report keeps the table usage_detail in use: try again when it has ended';
END $$;

ALTER TABLE usage_detail RENAME TO usage_detail_rest;
CREATE TABLE usage_detail (LIKE usage_detail_rest INCLUDING ALL) PARTITION BY RANGE (call_id);
-- Without another part there is nothing that its rows would have to be compared with.
ALTER TABLE usage_detail ATTACH PARTITION usage_detail_rest DEFAULT;

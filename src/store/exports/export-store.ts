/**
 * Calls to be exported. A trigger records each charge, whichever statement writes it. The trigger and its table are
 * made when an export is first turned on, so that a ledger without one pays nothing for it.
 */

import { VENDORS } from '../../ledger/estimates.ts'
import { integer, nano, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Row } from '../engine/engine.ts'
import { textOf } from '../engine/row.ts'
import { DETAIL_COLUMNS, detailOf } from '../ledger/call-rows.ts'
import type { CallRecord, ExportStore } from './export-port.ts'

export const DUE_TABLE = `create table if not exists export_due (
  call_id text primary key, claimed_until bigint not null default 0)`

const scripts = {
  sqlite: {
    isOn: `select 1 as one from sqlite_master where type = 'trigger' and name = 'transfer_export'`,
    // That of an earlier version takes estimates for calls.
    isOfNow: `select 1 as one from sqlite_master where name = 'transfer_export' and sql like '%${VENDORS}%'`,
    on: `${DUE_TABLE} without rowid;
      drop trigger if exists transfer_export;
      create trigger transfer_export after insert on transfer when new.kind = 'usage' and new.credit <> '${VENDORS}' begin
        insert into export_due (call_id) values (new.ref) on conflict do nothing;
      end`,
    off: 'drop trigger if exists transfer_export',
  },
  postgres: {
    isOn: `select 1 as one from pg_trigger where tgname = 'transfer_export' and tgrelid = 'transfer'::regclass`,
    isOfNow: `select 1 as one from pg_trigger t join pg_proc p on p.oid = t.tgfoid
      where t.tgname = 'transfer_export' and t.tgrelid = 'transfer'::regclass and p.prosrc like '%${VENDORS}%'`,
    // Once per statement: a group commit records all its calls at once.
    on: `${DUE_TABLE};
      create or replace function note_export() returns trigger language plpgsql as $$ begin
        insert into export_due (call_id) select n.ref from noted n where n.kind = 'usage' and n.credit <> '${VENDORS}' on conflict do nothing;
        return null;
      end $$;
      create or replace trigger transfer_export after insert on transfer referencing new table as noted
        for each statement execute function note_export()`,
    off: 'drop trigger if exists transfer_export on transfer',
  },
} as const

const calls = rowsOf({
  id: text('id'),
  at: integer('at'),
  keyId: text('key_id'),
  orgId: text('org_id'),
  payer: text('payer'),
  amount: nano('amount'),
})

const recordOf = (row: Row): CallRecord => {
  const call = calls.read(row)
  const detail = detailOf(row, call.id, call.keyId)
  return { ...call, ...(detail === undefined ? {} : { detail }) }
}

const idRows = (ids: readonly string[]): string => JSON.stringify(ids.map((c) => ({ c })))

export const exportStore = (engine: Engine): ExportStore => {
  const { now, each, lockFree, leftOne, oneOf } = engine.dialect
  const script = scripts[engine.name]
  const ofIds = `call_id in (select x.value->>'c' from ${each('$1')} x)`
  return {
    noteExports: async (on) => {
      const look = on ? script.isOfNow : script.isOn
      const isOn = (await once(engine, 'control', look)).length > 0
      if (isOn !== on) await engine.exclusive((_run, change) => change(on ? script.on : script.off))
    },
    claimExports: async (most, forMs) => {
      const next = `select e.call_id from export_due e where e.claimed_until <= ${now}
        order by e.call_id limit $1${lockFree('e')}`
      const claimed = await once(
        engine,
        'control',
        `update export_due set claimed_until = ${now} + cast($2 as bigint) where ${oneOf('call_id', next)} returning call_id`,
        most,
        forMs,
      )
      if (claimed.length === 0) return []
      const rows = await once(
        engine,
        'reading',
        `select t.ref as id, t.at, t.key_id, k.org_id, t.debit as payer, t.amount, ${DETAIL_COLUMNS}
           from ${each('$1')} x join transfer t on t.kind = 'usage' and t.ref = x.value->>'c'
             join api_key k on k.id = t.key_id ${leftOne('usage_detail', 'd', 'call_id', 't.ref')}
           order by t.ref`,
        idRows(claimed.map((row) => textOf(row, 'call_id'))),
      )
      return rows.map(recordOf)
    },
    exported: async (ids) => {
      await once(engine, 'control', `delete from export_due where ${ofIds}`, idRows(ids))
    },
    releaseExports: async (ids) => {
      const release = `update export_due set claimed_until = 0 where ${ofIds}`
      await once(engine, 'control', release, idRows(ids))
    },
  }
}

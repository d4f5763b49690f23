/** An organisation arrives in another ledger, in one transaction of it: all its rows, compared, and its money. */
import { clockOf } from '../engine/clock.ts'
import type { Engine, Run, SqlDialect } from '../engine/engine.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import { endSumsHere, rolledUpIn } from '../reports/roll-up.ts'
import { type CellMove, hasArrived, noteArrival } from './cell-moves.ts'
import {
  copyTable,
  countIn,
  deleteSums,
  deleteWhole,
  history,
  named,
  reading,
  tablesToMove,
} from './copy-rows.ts'
import { holdAgain } from './held-along.ts'
import { makeBetween, postBetween } from './leave-cell.ts'
import { NotMoved } from './not-moved.ts'
import type { Values } from './tables.ts'

type Arriving = {
  readonly source: Engine
  readonly target: Engine
  /** Takes it out of the other ledger; called again where this transaction is repeated. */
  readonly leaving: () => Promise<CellMove>
  readonly orgId: string
  readonly from: { readonly url: string; readonly cell: string }
  readonly longestMs: number
}

/** Columns that the other ledger has of its own. */
const mayDiffer: Readonly<Record<string, readonly string[]>> = {
  transfer: ['cell'],
  event: ['seq', 'hash', 'salt', 'named'],
  person: ['operator'],
}

const none = (names: readonly string[]): Values => Object.fromEntries(names.map((name) => [name, null]))

/** People who are known there already keep the id and the credentials that they have there. */
const knownPeople = (run: Run) => {
  const ids = new Map<string, string>()
  const ofNew = new Set(['person_account', 'person_totp', 'person_passkey'])
  return async (table: string, row: Values): Promise<Values | undefined> => {
    if (table === 'person') {
      const [known] = await run('select id from person where id = $1 or email = $2', [
        row.id ?? '',
        row.email ?? '',
      ])
      if (known === undefined) return { ...row, operator: '0' }
      ids.set(row.id ?? '', textOf(known, 'id'))
      return undefined
    }
    if (ofNew.has(table)) return ids.has(row.user_id ?? '') ? undefined : row
    const column = table === 'key_note' ? 'made_by' : 'person_id'
    const person = ids.get(row[column] ?? '')
    return person === undefined ? row : { ...row, [column]: person }
  }
}

/** Rows as they are to be there. Versions go on from the highest that processes of either cell know. */
const becoming = async (run: Run, { orgId, from }: Arriving) => {
  const highest = async (text: string) => BigInt(countOf(onlyRow(await run(text, [orgId])), 'v'))
  const wallets = 'wallet_id in (select a.id from account a where a.org_id = $1)'
  const versions: Readonly<Record<string, bigint>> = {
    api_key: await highest('select coalesce(max(version), 0) as v from api_key where org_id = $1'),
    wallet_rules: await highest(`select coalesce(max(version), 0) as v from wallet_rules where ${wallets}`),
    sub_wallet: await highest(`select coalesce(max(version), 0) as v from sub_wallet where ${wallets}`),
  }
  const people = knownPeople(run)
  return async (table: string, row: Values): Promise<Values | undefined> => {
    const version = versions[table]
    if (version !== undefined)
      return {
        ...row,
        version: String(BigInt(row.version ?? 0) + version + 1n),
        ...(table === 'api_key' ? { cell: null } : {}),
      }
    if (table === 'account') return { ...row, balance: '0', held: '0', cell: null }
    if (table === 'transfer') return { ...row, cell: row.cell ?? from.cell }
    if (table === 'event') return { ...row, ...none(mayDiffer.event ?? []) }
    if (table === 'rate_window') return { ...row, kept: '0', given: '0' }
    return people(table, row)
  }
}

/** No transaction takes so long, so what was posted before that is seen. */
const SLACK_MS = 60_000

/**
 * Brings it, unless it has arrived. Where other work goes on beside a long transaction, its history comes before its calls
 * wait. Returns how many rows it has by table. Throws NotMoved, and nothing is there.
 */
export const arrive = async (it: Arriving): Promise<Readonly<Record<string, number>>> => {
  const { source, target, orgId, from, longestMs, leaving } = it
  const work = async (run: Run): Promise<Readonly<Record<string, number>>> => {
    const into = { engine: target, run, tables: await named(run, target) }
    const copy = { into, orgId, become: await becoming(run, it), mayDiffer }
    const since = (await clockOf(source)) - SLACK_MS
    const ahead = target.dialect.locksRows
    if (ahead)
      await reading(source, from.url, longestMs, async (there) => {
        for (const table of tablesToMove({ from: there, into }))
          if (history[table.name] !== undefined) await copyTable({ ...copy, from: there }, table)
      })
    const move = await leaving()
    if (await hasArrived(run, move)) return {}
    await deleteWhole(run, orgId)
    await deleteSums(run, orgId)
    const { rows, theirs } = await reading(source, from.url, longestMs, async (there) => ({
      theirs: await rolledUpIn(there.run),
      rows: await copyAll({ ...copy, from: there, since: ahead ? since : undefined }),
    }))
    await endSumsHere(target, run, { orgId, theirs })
    await takeIn(run, it, move)
    await noteArrival(target, run, move, { orgId, from: from.cell })
    await tellAll(run, target.dialect, orgId)
    return rows
  }
  // A long transaction on SQLite holds up all others: it begins when nothing is waited for any more.
  if (!target.dialect.locksRows) await leaving()
  return target.transaction('control', work, longestMs)
}

/** Copies all that is not there yet, and counts it. */
const copyAll = async (copy: Parameters<typeof copyTable>[0]): Promise<Readonly<Record<string, number>>> => {
  const { from, into, orgId } = copy
  const rows: Record<string, number> = {}
  for (const table of tablesToMove(copy)) {
    const copied = await copyTable(copy, table)
    rows[table.name] =
      history[table.name] === undefined ? copied.rows : await countIn(into.run, orgId, table.name)
  }
  const posted = await countIn(from.run, orgId, 'transfer')
  if (posted !== rows.transfer) throw new NotMoved(`it has ${posted} postings, and ${rows.transfer} arrived`)
  return rows
}

/** Processes look for what changed lately: all that they know of it changes now, when it is about to be there. */
const tellAll = async (run: Run, { now }: SqlDialect, orgId: string): Promise<void> => {
  const wallets = 'select a.id from account a where a.org_id = $1'
  await run(`update api_key set changed_at = ${now} where org_id = $1`, [orgId])
  for (const table of ['wallet_rules', 'sub_wallet'])
    await run(`update ${table} set changed_at = ${now} where wallet_id in (${wallets})`, [orgId])
}

/** Its balances come into the books here, and what its batches hold of them is held. */
const takeIn = async (run: Run, { target, from, orgId }: Arriving, move: CellMove): Promise<void> => {
  const between = await makeBetween(run, target.dialect, from.cell)
  for (const [account, balance] of Object.entries(move.balances))
    await postBetween(run, target.dialect, { move, account, between, amount: BigInt(balance) })
  await holdAgain(run, orgId)
}

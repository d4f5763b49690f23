/** An organisation arrives in another ledger, in one transaction of it: all its rows, compared, and its money. */
import type { Engine, Run } from '../engine/engine.ts'
import { countOf, onlyRow, textOf } from '../engine/row.ts'
import { type CellMove, hasArrived, noteArrival } from './cell-moves.ts'
import { copyTable, deleteWhole, named, reading, tablesToMove } from './copy-rows.ts'
import { makeBetween, postBetween } from './leave-cell.ts'
import type { Values } from './tables.ts'

type Arriving = {
  readonly source: Engine
  readonly target: Engine
  readonly move: CellMove
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
    const person = row.person_id == null ? undefined : ids.get(row.person_id)
    return person === undefined ? row : { ...row, person_id: person }
  }
}

/** Rows as they are to be there. Versions go on from the highest that processes of either cell know. */
const becoming = async (run: Run, target: Engine, { orgId, from }: Arriving) => {
  const { now } = onlyRow(await run(`select cast(${target.dialect.now} as text) as now`)) as { now: string }
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
        changed_at: now,
        ...(table === 'api_key' ? { cell: null } : {}),
      }
    if (table === 'account') return { ...row, balance: '0', held: '0', cell: null }
    if (table === 'transfer') return { ...row, cell: row.cell ?? from.cell }
    if (table === 'event') return { ...row, ...none(mayDiffer.event ?? []) }
    if (table === 'rate_window') return { ...row, kept: '0', given: '0' }
    return people(table, row)
  }
}

/** Brings it, unless it has arrived. Returns how many rows it has by table. Throws NotMoved, and nothing is there. */
export const arrive = (it: Arriving): Promise<Readonly<Record<string, number>>> => {
  const { source, target, move, orgId, from, longestMs } = it
  return reading(source, from.url, longestMs, (there) =>
    target.transaction(
      'control',
      async (run) => {
        if (await hasArrived(run, move)) return {}
        const into = { engine: target, run, tables: await named(run, target) }
        const copy = { from: there, into, orgId, become: await becoming(run, target, it), mayDiffer }
        await deleteWhole(run, orgId)
        const rows: Record<string, number> = {}
        for (const table of tablesToMove(copy)) {
          const copied = await copyTable(copy, table)
          rows[table.name] = copied.rows
        }
        await takeIn(run, it)
        await noteArrival(target, run, move, { orgId, from: from.cell })
        return rows
      },
      longestMs,
    ),
  )
}

/** Its balances come into the books here. */
const takeIn = async (run: Run, { target, move, from }: Arriving): Promise<void> => {
  const between = await makeBetween(run, target.dialect, from.cell)
  for (const [account, balance] of Object.entries(move.balances))
    await postBetween(run, target.dialect, { move, account, between, amount: BigInt(balance) })
}

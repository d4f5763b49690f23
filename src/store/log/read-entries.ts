/**
 * What goes into the log of receipts, read from the books in an order that is the same whoever reads: by time, then by id. So
 * a process that adds again what a failover lost makes the same log.
 */
import { DAY_MS, dayOf, type Instant } from '../../core/time.ts'
import {
  callText,
  type DaySum,
  dayName,
  dayText,
  entryHash,
  nameDigest,
  saltOf,
} from '../../receipts/log-leaf.ts'
import type { Hash } from '../../receipts/merkle.ts'
import { chargedOf } from '../calls/receipt-store.ts'
import { type Engine, once, type Row } from '../engine/engine.ts'
import { countOf, nanoOf, onlyRow, textOf } from '../engine/row.ts'
import { DETAIL_COLUMNS } from '../ledger/call-rows.ts'
import { isPaid, withDetail } from '../ledger/sums.ts'

export type Entry = {
  readonly leaf: Hash
  readonly name: Uint8Array
  /** When it was posted or, if that was too late for its place, when its day ended. */
  readonly at: Instant
  readonly late?: Instant
}

/** The entry of a call; `detailed`: whether its detail is still there, which its text is made of. */
type CallEntry = Entry & { readonly id: string; readonly detailed: boolean }

/** Key by key: postings have an index by key and time, and one by time alone would add a cost to every call. */
const OF_KEYS = 'from api_key k cross join transfer t'
/** What came with an organisation from another cell is in the log there. */
const IN_SPAN = 't.key_id = k.id and t.cell is null and t.at >= $1 and t.at < $2'
const OF_CALLS = `t.kind in ('usage', 'writeoff') and ${isPaid}`

const inOrder = (one: Row, other: Row): number =>
  countOf(one, 'at') - countOf(other, 'at') || (textOf(one, 'ref') < textOf(other, 'ref') ? -1 : 1)

const callEntry = (secret: string, row: Row): CallEntry => {
  const id = textOf(row, 'ref')
  const leaf = entryHash(saltOf(secret, id), callText(chargedOf(id, row)))
  return { leaf, name: nameDigest(id), at: countOf(row, 'at'), id, detailed: row.detail !== null }
}

/** The calls that were charged from an instant on, up to another. */
export const callsIn = async (
  engine: Engine,
  secret: string,
  from: Instant,
  to: Instant,
): Promise<readonly CallEntry[]> => {
  const text = `select t.ref, t.kind, t.debit, t.key_id, t.amount, t.settled, t.at, ${DETAIL_COLUMNS} ${OF_KEYS}
    ${withDetail(engine.dialect)} where ${IN_SPAN} and ${OF_CALLS}`
  const rows = await once(engine, 'reading', text, from, to)
  return [...rows].sort(inOrder).map((row) => callEntry(secret, row))
}

/** When the next posting of a key was made from an instant on; undefined if there is none. */
export const nextPosting = async (engine: Engine, from: Instant): Promise<Instant | undefined> => {
  const text = `select min(x.at) as at from (select (select min(t.at) from transfer t
    where t.key_id = k.id and t.cell is null and t.at >= $1) as at from api_key k) x`
  const row = onlyRow(await once(engine, 'reading', text, from))
  return row.at === null ? undefined : countOf(row, 'at')
}

/** The sums of the accounts of a day; each payment by x402 has an account of its own, and its receipt says all. */
const sumsOf = async (engine: Engine, from: Instant, account?: string): Promise<readonly DaySum[]> => {
  const only = account === undefined ? '' : ' and x.account = $3'
  const text = `select x.account, cast(sum(x.calls) as bigint) as calls, cast(sum(x.charged) as bigint) as charged,
      cast(sum(x.refunded) as bigint) as refunded
    from (select t.debit as account, 1 as calls, t.amount as charged, 0 as refunded ${OF_KEYS} where ${IN_SPAN} and t.kind = 'usage' and ${isPaid}
      union all select t.credit, 0, 0, t.amount ${OF_KEYS} where ${IN_SPAN} and t.kind = 'refund') x
    where x.account not like 'x402:%'${only} group by x.account`
  const params = account === undefined ? [from, from + DAY_MS] : [from, from + DAY_MS, account]
  return (await once(engine, 'reading', text, ...params)).map((row) => ({
    account: textOf(row, 'account'),
    calls: countOf(row, 'calls'),
    charged: nanoOf(row, 'charged'),
    refunded: nanoOf(row, 'refunded'),
  }))
}

/** The entries of a day that is over, by account. They are posted, so to say, when it ends. */
export const daysIn = async (engine: Engine, secret: string, from: Instant): Promise<readonly Entry[]> => {
  const day = dayOf(from)
  const entries = (await sumsOf(engine, from)).map((sum) => {
    const name = dayName(day, sum.account)
    const leaf = entryHash(saltOf(secret, name), dayText(day, sum))
    return { account: sum.account, entry: { leaf, name: nameDigest(name), at: from + DAY_MS } }
  })
  return entries.sort((one, other) => (one.account < other.account ? -1 : 1)).map(({ entry }) => entry)
}

export const dayTextOf = async (
  engine: Engine,
  account: string,
  from: Instant,
): Promise<string | undefined> => {
  const [sum] = await sumsOf(engine, from, account)
  return sum === undefined ? undefined : dayText(dayOf(from), sum)
}

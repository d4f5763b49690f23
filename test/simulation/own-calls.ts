/**
 * Calls by keys that their organisation has at vendors itself, in three of ten histories: half of all calls. What the vendor
 * bills counts under every cap beside what is charged, which is nothing for half of them.
 */
import type { Hold, HoldRefused } from '../../src/book/contract.ts'
import { estimateAccountOf, estimateOf, VENDORS } from '../../src/ledger/estimates.ts'
import type { Store } from '../../src/store/port.ts'
import type { Stage } from './stage.ts'

type Parts = Pick<Stage, 'world' | 'hit' | 'fail'> & {
  readonly wallet: string
  readonly store: () => Store
  /** When the ledger first learnt of each settlement, by its name. */
  readonly settledMs: ReadonlyMap<string, number>
  readonly longestCallMs: number
}

/** What a call by an own key is held for, and what its vendor bills in the end; undefined where the house's key answers. */
export type OwnCall = { readonly fee: bigint; readonly list: bigint; readonly billed: bigint | undefined }

/** What an answer was counted for. */
export type Counted = { readonly callId: string; readonly estimate: bigint; readonly admittedMs: number }

/** Limits that no estimate may be refused by: they are of the money that pays. */
const OF_MONEY: readonly string[] = [
  'wallet',
  'credit_line',
  'no_credit_line',
  'past_due',
  'stop_at_remaining_usd',
]

export const createOwnCalls = ({ world, hit, fail, wallet, store, settledMs, longestCallMs }: Parts) => {
  const isOn = world.draws('own keys').random() < 0.3
  const counted: Counted[] = []

  /** Whether a call is by an own key, and what it costs. */
  const of = (callId: string, amount: bigint): OwnCall | undefined => {
    if (!isOn) return undefined
    const { pick, random } = world.draws(`own ${callId}`)
    if (random() < 0.5) return undefined
    const list = BigInt(pick(100, 3_000)) * 1_000n
    const billed = random() < 0.15 ? undefined : (list * BigInt(pick(1, 120))) / 100n
    return { fee: random() < 0.5 ? 0n : amount / 10n, list, billed }
  }

  const refused = ({ limit, estimated }: HoldRefused): void => {
    if (estimated !== true) return
    hit('estimate refused')
    if (OF_MONEY.includes(limit)) fail(`an estimate was refused by ${limit}`)
  }

  const extended = ({ list }: OwnCall, hold: Hold): void => {
    if ((hold.estimate?.() ?? 0n) < 2n * list) fail('a hold grew, and its estimate did not')
  }

  /** Notes that a call was answered. */
  const answered = ({ billed }: OwnCall, hold: Hold, admittedMs: number): void => {
    const held = hold.estimate?.() ?? 0n
    const estimate = billed === undefined ? 0n : billed < held ? billed : held
    counted.push({ callId: hold.callId, estimate, admittedMs })
  }

  /** What an answer's vendor billed is counted, in full if the ledger learnt of it in time. */
  const check = async (): Promise<void> => {
    for (const { callId, estimate, admittedMs } of counted) {
      const name = [...settledMs.keys()].find((one) => one.startsWith(estimateOf(callId, '')))
      const [posted, ...more] = name === undefined ? [] : await store().ledger.transfersOf(name)
      // The estimate is queued before the charge, so it is with the ledger no later.
      const inTime = (settledMs.get(callId) ?? Number.POSITIVE_INFINITY) - admittedMs < longestCallMs
      if (more.length > 0) fail('an estimate is counted twice')
      if (posted === undefined) {
        if (estimate > 0n && inTime) fail('answered, and its estimate is not counted')
        continue
      }
      if (posted.debit !== estimateAccountOf(wallet) || posted.credit !== VENDORS)
        fail(`an estimate is posted from ${posted.debit} to ${posted.credit}`)
      if (posted.amount > estimate || (inTime && posted.amount !== estimate))
        fail(`an estimate of ${estimate} is counted as ${posted.amount}`)
      hit('estimate counted')
    }
    const { held } = await store().wallets.spentToday(wallet)
    if (held !== 0n) fail(`counters hold ${held} after everything ended`)
  }

  return { of, refused, extended, answered, check }
}

/** Compares the ledger with books it has no part in: the vendor's notes, and the callers' records. */
import type { CallResult, Load } from './load.ts'
import type { Note } from './upstream.ts'
import type { View } from './view.ts'

export type Check = readonly [what: string, ok: boolean, value: string | number]

type OwnBooks = { readonly load: Load; readonly notes: ReadonlyMap<string, Note> }

/** By the caller's own name of the call: the answer, if it ever got one whole. */
const answersOf = ({ seen }: Load): ReadonlyMap<string, CallResult> =>
  new Map(seen.filter(({ complete, mode }) => complete && mode !== 'x402').map((one) => [one.orderId, one]))

/**
 * The charge of each key lies between two sums. The lower is what its callers learnt from whole answers. The upper adds
 * the bounds of calls that reached the vendor and whose answer never came whole. A call that never reached the vendor
 * costs nothing.
 */
const chargedRightly = async ({ load, notes }: OwnBooks, view: View): Promise<Check> => {
  const answers = answersOf(load)
  const [low, high] = [new Map<string, bigint>(), new Map<string, bigint>()]
  const add = (to: Map<string, bigint>, key: string, amount: bigint) =>
    to.set(key, (to.get(key) ?? 0n) + amount)
  for (const [orderId, { key, boundNano }] of load.sent) {
    const cost = answers.get(orderId)?.costNano
    if (cost !== undefined) {
      add(low, key, cost)
      add(high, key, cost)
    } else if (notes.has(orderId)) add(high, key, boundNano)
  }
  const charged = new Map(
    (
      await view.rows(
        `select key_id, sum(amount) as amount from transfer where kind = 'usage' group by key_id order by key_id`,
      )
    ).map(({ key_id: key, amount }) => [key ?? '', BigInt(amount ?? 0)]),
  )
  const wrong = [...high.keys()].filter((key) => {
    const amount = charged.get(key) ?? 0n
    return amount < (low.get(key) ?? 0n) || amount > (high.get(key) ?? 0n)
  })
  const details = wrong.map((key) => `${key}: ${low.get(key)} <= ${charged.get(key)} <= ${high.get(key)}`)
  return [
    'keys charged other than by the books of vendor and callers',
    wrong.length === 0,
    details.join(', ') || 0,
  ]
}

export const ownBookChecks = async (it: OwnBooks, view: View): Promise<readonly Check[]> => {
  const { load, notes } = it
  const answered = load.seen.filter(({ complete }) => complete)
  const unasked = answered.filter(({ orderId }) => !notes.has(orderId))
  const unsaid = answered.filter(({ orderId, cut }) => !cut && notes.get(orderId)?.finished !== true)
  const altered = answered.filter(({ strayed }) => strayed !== undefined)
  const cut = answered.filter((one) => one.cut && one.dueNano > LONG_DUE)
  const { falseRefusals, refusals } = load.books
  for (const told of falseRefusals.slice(0, 5)) console.log(`FAILED false refusal: ${told}`)
  for (const one of [...cut.slice(0, 5), ...altered.slice(0, 5)])
    console.log(`FAILED cut or altered: ${Bun.inspect(one).replaceAll(/\n\s*/g, ' ')}`)
  return [
    ['answers that the vendor was never asked for', unasked.length === 0, unasked.length],
    ['whole answers that the vendor never ended', unsaid.length === 0, unsaid.length],
    ['answers other than the vendor gave', altered.length === 0, altered.length],
    await chargedRightly(it, view),
    ['streams cut though their money was there', cut.length === 0, cut.length],
    [
      'false refusals',
      falseRefusals.length === 0,
      `${falseRefusals.length}, of ${refusals()} answers of 402 that were looked at`,
    ],
  ]
}

/** Streams without a bound that came to their end; a run without any proves nothing about them. */
export const longAnswered = ({ seen, sent }: Load): number =>
  seen.filter(({ complete, orderId, dueNano }) => complete && dueNano > LONG_DUE && sent.has(orderId)).length

const LONG_DUE = 40_000_000n

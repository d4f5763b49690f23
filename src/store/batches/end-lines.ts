/** The ends of lines: each try that has its line open is charged, or gives its money back to the batch, in one transaction. */
import { least, type Nano } from '../../core/money.ts'
import { cachedTokens, inputTokens, outputTokens } from '../../core/usage.ts'
import type { CallId } from '../../ledger/types.ts'
import { inShort } from '../calls/short-form.ts'
import type { Engine, Run } from '../engine/engine.ts'
import { maybeNano, nanoOf, textOf } from '../engine/row.ts'
import { rowChange } from '../engine/row-changes.ts'
import { textsOnce } from '../engine/texts.ts'
import { detailRow, ids, json, noteOf } from '../ledger/call-rows.ts'
import { insertCharges } from '../ledger/charge-row.ts'
import { textsFor } from '../ledger/commit-at-once.ts'
import { giveBackWithin } from '../ledger/give-back.ts'
import { takeWithin } from './batch-money.ts'
import type { BatchStore, LineEnd } from './batch-port.ts'
import { lineAt, lockBatch, type MoneyRow } from './batch-row.ts'

/** An open try of a line: what its call holds, and on which lease. The hold is gone if the lease was taken away. */
type Held = { readonly end: LineEnd; readonly bound: Nano; readonly hold?: Nano; readonly lease: string }

/** See BatchStore.end. */
export const endLines = (
  engine: Engine,
  id: string,
  ends: readonly LineEnd[],
): ReturnType<BatchStore['end']> => engine.transaction('control', (run) => endWithin(engine, run, id, ends))

/** See BatchStore.endAndTake. What the next lines have to borrow waits for `take`: its locks come in another order. */
export const endAndTake = (
  engine: Engine,
  id: string,
  ends: readonly LineEnd[],
  next: Parameters<BatchStore['endAndTake']>[2],
): ReturnType<BatchStore['endAndTake']> =>
  engine.transaction('control', async (run) => {
    const ended = await endWithin(engine, run, id, ends)
    return { ended, taken: await takeWithin(engine, run, id, { ...next, borrows: false }) }
  })

const endWithin = async (
  engine: Engine,
  run: Run,
  id: string,
  ends: readonly LineEnd[],
): Promise<ReadonlySet<CallId>> => {
  const { each, leftOne, locksRows } = engine.dialect
  const batch = await lockBatch(engine, run, id)
  if (batch === undefined) return new Set<CallId>()
  const calls = ids(ends.map(({ callId }) => callId))
  if (locksRows) await run(textsFor(engine.dialect).lock, [ids([]), calls])
  // By their place in the batch: by their calls, PostgreSQL would read all lines of all batches each time.
  const rows = await run(
    `select batch_line.state, batch_line.call_id, batch_line.bound, f.hold, f.lease_id from ${each('$1')} e
     join batch_line on ${lineAt} and batch_line.call_id = e.value->>'c' ${leftOne('inflight', 'f', 'call_id', 'batch_line.call_id')}`,
    [json(ends.map(({ n, callId }) => ({ b: id, n, c: callId })))],
  )
  const byCall = new Map(ends.map((end) => [end.callId, end]))
  const open = rows.flatMap((row): Held[] => {
    const end = byCall.get(textOf(row, 'call_id'))
    const hold = maybeNano(row, 'hold')
    const at = { bound: nanoOf(row, 'bound'), lease: hold === undefined ? '' : textOf(row, 'lease_id') }
    if (row.state !== 'sent') return []
    return end === undefined ? [] : [{ end, ...at, ...(hold === undefined ? {} : { hold }) }]
  })
  if (open.length > 0) await endOpen(engine, run, batch, open)
  return new Set(open.map(({ end }) => end.callId))
}

const LOST = JSON.stringify({
  code: 'upstream_error',
  message: 'The line did not end in time. Nothing was charged.',
})

/** What a line is charged; nothing unless its call still holds its money. */
const chargeOf = ({ end, hold = 0n }: Held): Nano =>
  end.state === 'succeeded' ? least(end.settle.charge, hold) : 0n

/** A line of a batch that was stopped meanwhile is not sent again. */
const stateOf = ({ stop }: MoneyRow, { end, hold }: Held) => {
  if (end.state === 'waiting' && stop !== undefined) return 'stopped'
  return end.state === 'succeeded' && hold === undefined ? 'errored' : end.state
}

const endOpen = async (engine: Engine, run: Run, batch: MoneyRow, all: readonly Held[]): Promise<void> => {
  const texts = endTexts(engine.dialect)
  const sumOf = (some: readonly Held[]) =>
    some.reduce((sum, one) => sum + (one.hold ?? 0n) - chargeOf(one), 0n)
  const leases = [...Map.groupBy(all, (one) => one.lease)].map(([lease, ofLease]) => {
    // What a batch of slices did not use is for its next lines; any other has the money of all its lines.
    const keeping =
      batch.onCap === 'refuse' ? ofLease.filter((one) => stateOf(batch, one) === 'waiting') : ofLease
    return { lease, kept: sumOf(keeping), rest: sumOf(ofLease), charged: ofLease.filter(isCharged) }
  })
  const [stays] = await Promise.all([
    Promise.all(
      leases.map(({ lease, kept }) => (kept === 0n ? [] : run(texts.keep, [batch.id, lease, kept]))),
    ),
    ...charge(engine, run, all),
    run(texts.close, [ids(all.map(({ end }) => end.callId))]),
    ...leases.map(({ lease, charged }) => {
      const used = charged.reduce((sum, one) => sum + chargeOf(one), 0n)
      return run(texts.spend, [lease, used, charged.length])
    }),
  ])
  const backs = leases
    .map(({ lease, rest, kept }, at) => ({ lease, back: rest - (stays[at]?.length === 0 ? 0n : kept) }))
    .filter(({ back }) => back > 0n)
  await Promise.all([
    backs.length === 0 ? undefined : giveBackWithin(run, engine.dialect, backs),
    writeEnds(engine, run, batch, all),
  ])
}

const endTexts = textsOnce(({ each }) => ({
  spend:
    'update lease set used = used + cast($2 as bigint), calls = calls + cast($3 as bigint) where id = $1',
  close: `delete from inflight where call_id in (select e.value->>'c' from ${each('$1')} e)`,
  keep: 'update inflight set hold = hold + cast($3 as bigint) where call_id = $1 and lease_id = $2 returning call_id',
}))

/** Their leases are locked and their holds were read, so no statement looks for these again. */
const chargeRows = rowChange(
  ['c', 'a', 'n', 'l'],
  (value, rows, { now }) =>
    `${insertCharges({
      ...{ call: value('c'), amount: `cast(${value('a')} as bigint)`, note: value('n') },
      ...{ settled: 'null', attempt: 'l.id', at: now },
    })} from ${rows} join lease l on l.id = ${value('l')}`,
)
const detailRows = rowChange(
  ['c', 'm', 'i', 'o', 'd'],
  (value, rows) => `insert into usage_detail (call_id, model, input_tokens, output_tokens, detail)
    select ${value('c')}, ${value('m')}, cast(${value('i')} as bigint), cast(${value('o')} as bigint), ${value('d')} from ${rows}`,
)
const lineRows = rowChange(
  ['b', 'n', 's', 'a', 'r', 't', 'p'],
  (
    value,
    rows,
    { now },
  ) => `update batch_line set state = ${value('s')}, charged = cast(${value('a')} as bigint),
      result = ${value('r')}, receipt = ${value('t')}, pause = ${now} + cast(${value('p')} as bigint)
    from ${rows} where batch_line.batch_id = ${value('b')} and batch_line.n = cast(${value('n')} as bigint)`,
)

const isCharged = ({ end, hold }: Held): boolean => end.state === 'succeeded' && hold !== undefined

/** Charges lines, each to the lease that holds for it. */
const charge = (engine: Engine, run: Run, all: readonly Held[]) => {
  const settles = all.flatMap((one) => {
    const { end, lease } = one
    if (end.state !== 'succeeded' || !isCharged(one)) return []
    return [{ ...end.settle, charge: chargeOf(one), callId: end.callId, leaseId: lease, payer: '' }]
  })
  const amounts = settles.map((settle) => {
    const { callId, leaseId } = settle
    return { c: callId, a: String(settle.charge), n: noteOf(settle), l: leaseId }
  })
  const short = inShort.has(engine)
  const details = settles.map(({ callId, detail }) => detailRow(callId, detail, short))
  return [chargeRows(engine, run, amounts), detailRows(engine, run, details)]
}

/** Writes how lines ended, and counts them. */
const writeEnds = async (engine: Engine, run: Run, batch: MoneyRow, all: readonly Held[]) => {
  const lines = all.map((one) => {
    const { end } = one
    const s = stateOf(batch, one)
    const said = end.state === 'waiting' ? (s === 'stopped' ? (batch.stop ?? null) : null) : end.result
    return {
      ...{ b: batch.id, n: end.n, s, a: String(chargeOf(one)) },
      r: s === 'errored' && end.state === 'succeeded' ? LOST : said,
      t: s === 'succeeded' && end.state === 'succeeded' ? (end.receipt ?? null) : null,
      p: end.state === 'waiting' ? end.pauseMs : 0,
    }
  })
  await lineRows(engine, run, lines)
  const count = (state: ReturnType<typeof stateOf>) => lines.filter(({ s }) => s === state).length
  const usages = all.flatMap(({ end, hold }) =>
    end.state === 'succeeded' && hold !== undefined ? [end.settle.detail.usage] : [],
  )
  const tokens = (of: typeof inputTokens) => usages.reduce((sum, usage) => sum + of(usage), 0)
  const again = all.filter((one) => stateOf(batch, one) === 'waiting')
  const added = [
    ['sent', -lines.length],
    ['succeeded', count('succeeded')],
    ['errored', count('errored')],
    ['waiting', count('waiting')],
    ['stopped', count('stopped')],
    ['rest', again.reduce((sum, { bound }) => sum + bound, 0n)],
    ['charged', all.reduce((sum, one) => sum + chargeOf(one), 0n)],
    ['input_tokens', tokens(inputTokens)],
    ['output_tokens', tokens(outputTokens)],
    ['cached_tokens', tokens(cachedTokens)],
    ['reasoning_tokens', tokens(({ reasoning }) => reasoning ?? 0)],
  ] as const
  const sets = added.map(([name], at) => `${name} = ${name} + cast($${at + 2} as bigint)`)
  await run(`update batch set ${sets.join(', ')} where id = $1`, [batch.id, ...added.map(([, by]) => by)])
}

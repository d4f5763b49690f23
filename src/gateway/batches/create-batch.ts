/**
 * A batch begins: its lines are read and priced one after the other, and then the money of all is held in one step. If
 * any line is wrong, or the money is not there, nothing begins and nothing is held.
 */
import { decimalFromNano, type Nano } from '../../core/money.ts'
import { invalid, Refusal, refuse, retryIn, unavailable } from '../../core/refusal.ts'
import type { LoanRefused } from '../../ledger/types.ts'
import { payingAccount } from '../../payment/funding.ts'
import type { Batch, NewBatch, NewLine } from '../../store/batches/batch-port.ts'
import type { Key } from '../../tenancy/key.ts'
import { tellsNothing, told } from '../../tenancy/terms.ts'
import { doesNotFit } from '../hold/does-not-fit.ts'
import { refusalOf } from '../hold/job-hold.ts'
import type { Gateway } from '../parts/gateway.ts'
import { OWNER_MS } from '../parts/jobs.ts'
import { newTrace, type Trace } from '../parts/trace.ts'
import { behindCalls } from './behind-calls.ts'
import { enoughLines } from './enough-lines.ts'
import { planLine } from './plan-line.ts'
import { linesOf } from './read-lines.ts'

/** How long lines are read before others get their turn. */
const TURN_MS = 1
/** How long a batch waits for money that other leases have. */
const PATIENCE_MS = 2_000
const LOOK_AGAIN_MS = 60

type NewRequest = Pick<NewBatch, 'id' | 'form' | 'sub' | 'onCap' | 'asked' | 'webhook'> & {
  readonly key: Key
  readonly input: { readonly id: string; readonly bytes: number }
  readonly trace: Trace
}

/** Begins the batch, or returns the one that was begun under this id before. Throws the Refusal that says what is wrong. */
export const createBatch = async (gateway: Gateway, it: NewRequest): Promise<Batch> => {
  const { store, options, instance } = gateway
  const { newBatches } = gateway.memory.jobs
  const { key, id, form, asked, onCap, sub, webhook, input } = it
  // A repeat that ends sooner would take its name away, and this process would give up what it reads.
  if (newBatches.has(id)) throw beingRead()
  const begins: NewBatch = {
    ...{ id, form, asked, onCap, input: input.id, owner: instance, ownerMs: OWNER_MS },
    ...{ sub, webhook },
    keyId: key.id,
    walletId: key.walletId,
    payer: payingAccount(asked.mode, key) ?? key.walletId,
    lifeMs: options.batchLifeMs,
  }
  newBatches.add(id)
  try {
    const opened = await store.batches.open(begins, options.batchesOpenMax)
    if (opened === 'too_many')
      throw refuse(
        'too_many_batches',
        'The key has reached its limit of open batches; wait for one to end, or cancel one.',
        retryIn(60),
      )
    if (opened === 'opened')
      await holdAll(gateway, it).catch(async (thrown: unknown) => {
        await store.batches.drop(id, instance)
        throw thrown
      })
    const batch = await store.batches.batchFor(id, key.id)
    if (batch === undefined) throw beingRead()
    if (opened === 'exists' && !isSame(batch, it))
      throw refuse('idempotency_key_reused', "This 'Idempotency-Key' was used with another batch.")
    return batch
  } finally {
    newBatches.delete(id)
  }
}

/** Whether a request asks for the batch that was begun. Batches of former versions do not tell their lines. */
const isSame = (batch: Batch, { asked, onCap, sub, webhook }: NewRequest): boolean => {
  const { lines = asked.lines } = batch.asked
  const [was, is] = [{ ...batch.asked, lines }, asked].map((one) => JSON.stringify(one))
  return was === is && batch.onCap === onCap && batch.sub === sub && batch.webhook === webhook
}

const beingRead = () =>
  refuse('idempotency_in_progress', 'The batch of this request is being read; try again in 5 s.', retryIn(5))

const holdAll = async (gateway: Gateway, it: NewRequest): Promise<void> => {
  const { store, clock, instance } = gateway
  const sum = await readLines(gateway, it)
  const until = clock.monotonicMs() + PATIENCE_MS
  for (;;) {
    const begun = await store.batches.begin(it.id, instance)
    if (begun.outcome === 'begun') return
    const mayComeBack = begun.outcome === 'recall' || begun.outcome === 'held'
    if (!mayComeBack || clock.monotonicMs() >= until) throw await notHeld(gateway, it, { begun, sum })
    await clock.sleep(LOOK_AGAIN_MS * (1 + gateway.random()))
  }
}

/** Reads, prices and writes all lines; returns the most that they can cost together. */
const readLines = async (gateway: Gateway, it: NewRequest): Promise<Nano> => {
  const { assets, clock, instance, options, store } = gateway
  if (assets === undefined) throw refuse('not_found', 'This server keeps no files, so it takes no batches.')
  const behind = behindCalls(gateway)
  const seen = new Set<string>()
  let lines: NewLine[] = []
  let sum = 0n
  let turnMs = clock.monotonicMs()
  // In slices a part may have any number of lines.
  const enough = enoughLines(it.onCap === 'refuse')
  const push = (ready: readonly NewLine[]): void => {
    for (const line of ready) sum += line.bound
    lines.push(...ready)
  }
  const add = async (): Promise<void> => {
    if (!(await store.batches.addLines(it.id, instance, lines)))
      throw unavailable(
        'The batch was given up, because this process was not heard of while it read the lines.',
      )
  }
  const { id, bytes: size } = it.input
  for await (const { n, at, bytes } of linesOf(assets.uploads, { id, size, lineMax: options.bodyBytesMax })) {
    if (seen.size >= options.batchLinesMax)
      throw refuse('request_too_large', `A batch may have at most ${options.batchLinesMax} lines.`)
    const trace = newTrace(it.trace.callId, turnMs)
    const { customId, plan, route, few } = await planLine(gateway, it, { n, bytes, trace }).catch(atLine(n))
    if (seen.has(customId))
      throw atLine(n)(
        invalid('custom_id', `'custom_id' ${JSON.stringify(customId)} is that of a line before it.`),
      )
    seen.add(customId)
    push(enough.add({ n, customId, at, bytes: bytes.length, bound: plan.amount, route }, few))
    if (lines.length >= behind.writes()) {
      await add()
      lines = []
    }
    if (clock.monotonicMs() - turnMs > TURN_MS) {
      await behind.step()
      turnMs = clock.monotonicMs()
    }
  }
  if (seen.size === 0) throw invalid('input_file_id', 'The batch has no lines.')
  push(enough.rest())
  if (lines.length > 0) await add()
  return sum
}

/** Names the line in whatever is wrong with it. */
const atLine =
  (n: number) =>
  (thrown: unknown): never => {
    if (!(thrown instanceof Refusal)) throw thrown
    const { code, message, members } = thrown
    throw refuse(code, `Line ${n}: ${message}`, { members: { ...members, line: String(n) } })
  }

/** The refusal of a batch whose money is not there, with the sum that it needs. */
const notHeld = async (
  gateway: Gateway,
  { key, onCap }: NewRequest,
  { begun, sum }: { readonly begun: LoanRefused; readonly sum: Nano },
): Promise<Refusal> => {
  const why = await refusalOf(gateway, { key }, begun)
  const refusal =
    why instanceof Refusal ? why : doesNotFit({ ...why, key }, { required: begun.required }, gateway)
  if (why instanceof Refusal) return refusal
  const all = onCap === 'refuse' ? " To run as many lines as fit, send 'on_cap': 'run_what_fits'." : ''
  const { code, message, members, headers } = refusal
  const text = `${message.replace('The call needs', 'That needs')}${all}`
  if (tellsNothing(key.terms)) return refuse(code, text, { members, headers })
  const needed = decimalFromNano(told(sum, key.terms))
  return refuse(code, `All lines of the batch together may cost up to ${needed} USD. ${text}`, {
    members: { ...members, required_usd: needed },
    headers,
  })
}

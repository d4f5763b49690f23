/**
 * The hold of a job. The money is lent, the hold opened and the row written in one step, for as long as the job may
 * take, whichever process survives.
 */
import { disabledKey, noBudgetLeft, unknownKey, unknownSubWallet } from '../../admission/caller.ts'
import type { Hold, HoldRefused, HoldRequest, Soon } from '../../book/contract.ts'
import { present } from '../../core/json-body.ts'
import { type Refusal, refuse, retryIn } from '../../core/refusal.ts'
import type { LoanRefused } from '../../ledger/types.ts'
import type { JobShape } from '../../media/shape.ts'
import { GUESTS_KEY } from '../../payment/x402.ts'
import type { NewRun, RunBegun } from '../../store/calls/run-port.ts'
import type { Gateway, LiveOffering } from '../parts/gateway.ts'
import { OWNER_MS } from '../parts/jobs.ts'

/** How long the job waits for money that other leases or open calls have. */
const PATIENCE_MS = 2_000
const LOOK_AGAIN_MS = 60
const TOO_MANY_RETRY_S = 10

/** Thrown when the call's run already exists: whoever repeats a call gets that run. */
export class RunExists extends Error {}

/** The shape of a model whose calls are jobs. */
export const jobShapeOf = ({ media }: Pick<LiveOffering, 'media'>, modelId: string): JobShape | undefined => {
  const shape = media.get(modelId)
  return shape?.flow === 'job' ? shape : undefined
}

/** Holds the money of a call; if the model's calls are jobs, as a job's. */
export const holdFor = (
  gateway: Gateway,
  modelId: string,
  ask: HoldRequest,
): Soon<Hold | HoldRefused | Refusal> => {
  const shape = jobShapeOf(gateway.offering, modelId)
  return shape === undefined ? gateway.book.hold(ask) : holdJob(gateway, modelId, shape, ask)
}

const holdJob = async (
  gateway: Gateway,
  modelId: string,
  { deadlineMs }: JobShape,
  ask: HoldRequest,
): Promise<Hold | HoldRefused | Refusal> => {
  const { store, clock, instance, options } = gateway
  const { callId, key, sub, payer, tags, amount, useful, list, voucher } = ask
  const run: NewRun = {
    id: callId,
    keyId: key.id,
    walletId: key.walletId,
    sub,
    payer,
    tags,
    voucher: voucher?.id,
    model: modelId,
    amount,
    useful,
    list,
    owner: instance,
    ownerMs: OWNER_MS,
    deadlineMs,
    // All guests share one key, and each has paid for its job.
    openMax: key.id === GUESTS_KEY ? undefined : options.runsOpenMax,
  }
  const until = clock.monotonicMs() + PATIENCE_MS
  for (;;) {
    const begun = await store.runs.begin(run)
    if (begun.outcome === 'begun') return jobHold(gateway, ask)
    if (begun.outcome === 'exists') throw new RunExists()
    if (!mayComeBack(begun, ask) || ask.signal?.aborted === true || clock.monotonicMs() >= until)
      return refusalOf(gateway, ask, begun)
    await clock.sleep(LOOK_AGAIN_MS * (1 + gateway.random()))
  }
}

const mayComeBack = (begun: RunBegun, { amount, waits }: HoldRequest): boolean =>
  begun.outcome === 'recall' ||
  (begun.outcome === 'held' && waits === true && begun.available + begun.held >= amount)

/** Why money was not lent: a refusal, or the limit that binds. */
export const refusalOf = async (
  { store }: Gateway,
  { key }: Pick<HoldRequest, 'key'>,
  begun: Exclude<RunBegun, { outcome: 'begun' | 'exists' }>,
): Promise<Refusal | HoldRefused> => {
  switch (begun.outcome) {
    case 'too_many':
      return refuse(
        'too_many_runs',
        'The key has reached its limit of open jobs; wait for one to end, or cancel one.',
        retryIn(TOO_MANY_RETRY_S),
      )
    case 'unknown_key':
      return unknownKey()
    case 'unknown_sub':
      return unknownSubWallet()
    case 'full':
      return begun.budget === undefined ? refusedBy(begun) : noBudgetLeft(begun.budget)
    case 'disabled': {
      const now = await store.keys.key(key.id)
      return now === undefined ? unknownKey() : disabledKey(now)
    }
    default:
      return refusedBy(begun)
  }
}

const refusedBy = ({
  outcome,
  limit,
  budget,
  owner,
  required,
  available,
  held,
  estimated,
}: LoanRefused & Pick<HoldRefused, 'estimated'>): HoldRefused => ({
  outcome: 'refused',
  spent: outcome === 'spent',
  limit: limit ?? 'wallet',
  budget,
  owner,
  required,
  available,
  held,
  ...present({ estimated }),
})

/** This hold never settles the charge: whatever ends the job charges it together with its row. */
const jobHold = ({ store }: Gateway, { callId, amount, list }: HoldRequest): Hold => ({
  callId,
  amount: () => amount,
  estimate: () => list?.amount ?? 0n,
  opened: Promise.resolve(true),
  extend: async () => 'refused',
  checkpoint: () => undefined,
  settle: () => Promise.reject(new Error('a job is settled with its row')),
  void: () => store.runs.forget(callId),
})

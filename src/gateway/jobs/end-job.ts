/** The end of a job: its results are stored, then it is charged, written and answered in one step; or it ends without a charge. */
import { present } from '../../core/json-body.ts'
import { warning } from '../../core/log.ts'
import { decimalFromNano, least, type Nano } from '../../core/money.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { Usage } from '../../core/usage.ts'
import type { IdempotencyRef } from '../../ledger/types.ts'
import type { Done, JobShape, Output } from '../../media/shape.ts'
import { GUESTS_KEY } from '../../payment/x402.ts'
import { chargeFor, withCall } from '../../pricing/charge.ts'
import type { Deployment } from '../../routing/deployments.ts'
import { costMember } from '../../routing/vendor-errors.ts'
import type { Run, RunFacts, RunOutput, RunResult } from '../../store/calls/run-port.ts'
import { type Told, tellsNothing, told } from '../../tenancy/terms.ts'
import { NOTHING_SENT } from '../answer/give-up.ts'
import { containsBytes, written } from '../answer/media-results.ts'
import { measuredOf, storeOutputs } from '../answer/store-outputs.ts'
import { watchVendorCost } from '../answer/vendor-cost.ts'
import { billOf, chargedOf, detailOf, type Metered } from '../ask/bill.ts'
import { vendorKeyOf } from '../ask/own-call.ts'
import { noteFailedJob } from '../parts/failures.ts'
import type { Gateway } from '../parts/gateway.ts'
import { wakeWaiting } from '../parts/jobs.ts'
import { receiptFor } from '../parts/receipt.ts'
import type { Billed, PaymentFacts } from '../parts/task.ts'
import { cancelCost, unitsIfCancelled } from './cancel-cost.ts'
import { moreOf, termsOfRun } from './shown-run.ts'
import { credentialFor } from './vendor-step.ts'

type Ending = { readonly run: Run; readonly facts: RunFacts; readonly tooDear?: boolean }

/** Stores and charges what was delivered. Throws as `Assets.keep` does; then the job is unchanged. */
export const deliver = async (
  gateway: Gateway,
  { run, facts }: Ending,
  it: { readonly done: Done; readonly shape: JobShape; readonly at: Deployment },
): Promise<void> => {
  const { done, shape, at } = it
  const { style, modelName, most, vendor } = facts
  const stored = await storeOutputs(gateway.assets, {
    keyId: run.keyId,
    runId: run.id,
    outputs: done.outputs,
    measured: done.measured,
    most,
    needsBytes: facts.keep !== undefined && containsBytes(style),
    credentialFor: credentialFor(at, shape),
  })
  const { vendorCost } = done
  const metered = { ...meteredOf(facts, measuredOf(done, { most }, stored.lengths)), vendorCost }
  const terms = await termsOfRun(gateway, run)
  const billed = billedOf(gateway, { run, facts }, terms)
  const charged = chargedOf(billed, metered)
  const bill = billOf(billed, metered, charged)
  const { usage } = metered
  const endedAt = Math.max(run.createdAt, gateway.clock.now())
  const results = {
    done,
    ...stored,
    createdS: Math.floor(run.createdAt / 1000),
    more: moreOf(gateway, { ...run, endedAt }, 'done', terms),
  }
  const callRef = { call: { media: { results: style }, modelName }, trace: { callId: run.id } }
  const last = written(callRef, results, { usage, bill, charged })
  const detail = detailOf(gateway, billed, metered, 'ok', last)
  const receipt = receiptFor(gateway, billed, detail, charged)
  const headers = last.headers(receipt)
  if (facts.vendorKey !== 'own') watchVendorCost(gateway, { call: run.id, vendor, vendorCost, charged })
  const body = facts.keep === undefined ? '' : last.text(last.bytes(undefined, receipt))
  const { transcript } = done
  await end(gateway, run, facts, {
    state: 'done',
    result: {
      body: done.body,
      outputs: done.outputs.map(placeOf),
      ...(transcript === undefined ? {} : { transcript }),
      usage,
      bill,
      charged: String(charged),
      headers,
      endedAt,
    },
    settle: {
      charge: charged,
      excess: metered.cost - charged,
      detail,
      ...(facts.keep === undefined ? {} : { answer: answerOf(facts.keep, headers, body) }),
    },
  })
}

const answerOf = (ref: IdempotencyRef, headers: Readonly<Record<string, string>>, body: string) => ({
  ref,
  answer: { status: 200, headers, body },
})

/** The output without bytes and addresses; what is stored is named by its place. */
const placeOf = (output: Output): RunOutput =>
  output.type === 'text' || output.type === 'json'
    ? output
    : { type: output.type, ...(output.at === undefined ? {} : { at: output.at }) }

const meteredOf = ({ price, vendorKey, list }: RunFacts, measured: Usage): Metered => {
  const usage = withCall(price, measured)
  const metered = { usage, estimated: false, price, cost: chargeFor(price, usage) }
  return vendorKey === undefined ? metered : { ...metered, byKey: vendorKeyOf({ vendorKey, list }, measured) }
}

const billedOf = ({ clock }: Gateway, { run, facts }: Ending, terms: Told): Billed => {
  const tookMs = Math.max(0, clock.now() - run.createdAt)
  const startedMs = clock.monotonicMs() - tookMs
  return {
    key: { id: run.keyId, walletId: run.walletId, ...(terms === undefined ? {} : { terms }) },
    payer: run.payer === run.walletId ? undefined : run.payer,
    payment: facts.payment as PaymentFacts,
    outputBound: undefined,
    requestHash: () => facts.requestHash,
    model: { id: run.model, vendor: facts.vendor },
    hold: { amount: () => run.hold },
    trace: {
      ...{ callId: run.id, startedMs, vendor: facts.vendor, firstByteMs: tookMs },
      ...present({ met: facts.met, tags: facts.tags, guardrails: facts.guardrails }),
    },
  }
}

/** Ends the job without a charge, for a reason that its caller sees. */
export const endFailed = async (
  gateway: Gateway,
  { run, facts }: { readonly run: Run; readonly facts: RunFacts | undefined },
  { code, message, members }: Refusal,
): Promise<void> => {
  await end(gateway, run, facts, { state: 'failed', result: { error: { code, message, members } } })
}

/** Ends a job that its caller cancelled: free, or for what the vendor bills all the same, and never more than was told. */
export const endCancelled = async (
  gateway: Gateway,
  { run, facts, tooDear = false }: Ending,
  it: { readonly shape: JobShape; readonly measured: Usage | undefined },
): Promise<void> => {
  const most = cancelCost(run, it.shape)
  const terms = await termsOfRun(gateway, run)
  const result = (charge: Nano) => cancelledResult(facts, { charge, terms, tooDear })
  if (most === 0n) return end(gateway, run, facts, { state: 'cancelled', result: result(0n) })
  const metered = meteredOf(facts, it.measured ?? unitsIfCancelled(facts))
  const billed = billedOf(gateway, { run: { ...run, hold: most }, facts }, terms)
  const charge = chargedOf(billed, metered)
  const detail = detailOf(gateway, billed, metered, 'cancelled', NOTHING_SENT)
  return end(gateway, run, facts, {
    state: 'cancelled',
    result: result(charge),
    settle: { charge, excess: metered.cost - charge, detail },
  })
}

const cancelledResult = (
  { vendor }: RunFacts,
  { charge, terms, tooDear }: { readonly charge: Nano; readonly terms: Told; readonly tooDear: boolean },
): Extract<RunResult, { error: object }> => {
  const cost = tellsNothing(terms) ? undefined : told(charge, terms)
  const what = cost === undefined ? 'it was' : `${decimalFromNano(cost)} USD were`
  return {
    error: {
      code: tooDear ? 'upstream_error' : 'run_cancelled',
      message:
        charge === 0n
          ? 'The job was cancelled. Nothing was charged.'
          : `The job was cancelled; its vendor bills that, so ${what} charged.`,
      members: { provider: vendor, ...costMember(cost) },
    },
  }
}

type RowEnd = Omit<Parameters<Gateway['store']['runs']['end']>[1], 'keptMs'>

const end = async (gateway: Gateway, run: Run, facts: RunFacts | undefined, it: RowEnd): Promise<void> => {
  const { store, log, options } = gateway
  const { jobs } = gateway.memory
  const { meters } = gateway.watch
  const ended = await store.runs.end(run.id, { ...it, keptMs: options.runKeptMs })
  jobs.open.delete(run.id)
  wakeWaiting(jobs, run.id)
  if (ended === undefined) return
  const charged = it.settle === undefined ? 0n : least(it.settle.charge, run.hold)
  if (it.settle !== undefined && ended.state !== 'failed')
    meters?.jobCharged({ vendor: it.settle.detail.vendor, model: run.model }, it.settle.detail.usage, charged)
  if (ended.state === 'failed') noteFailedJob(gateway, ended)
  log.info('a job ended', { call: run.id, model: run.model, ended: ended.state, charged })
  if (it.settle !== undefined && ended.state === 'failed')
    log.warn('a job was delivered after its money was freed; the house pays it', {
      call: run.id,
      excess: charged,
    })
  await payChange(gateway, run, facts)
}

/**
 * The rest of a payment goes to the wallet of whoever made it; a guest claims it. If this fails, the next round pays
 * it.
 */
const payChange = async (
  { payments: { x402 }, log }: Gateway,
  { id, keyId, walletId }: Run,
  facts: RunFacts | undefined,
): Promise<void> => {
  const payment = facts?.payment
  if (payment?.mode !== 'x402' || payment.id === undefined) return
  // If this fails, the next round over open vouchers does it.
  if (payment.scheme === 'batch-settlement')
    return void (await x402?.chargeVoucher(payment.id).catch(() => {}))
  if (keyId === GUESTS_KEY) return
  await x402
    ?.payChange(payment.id, walletId)
    .catch(warning(log, 'the change of a job could not be paid yet', { call: id }))
}

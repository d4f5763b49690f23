/** A run as its caller sees it: its state and, when it has ended, its results or why there are none. */

import type { JsonObject } from '../../core/json-body.ts'
import { isOurs } from '../../core/keyed-hash.ts'
import { type Nano, usdNumber } from '../../core/money.ts'
import { type Refusal, refuse } from '../../core/refusal.ts'
import { monthOf } from '../../core/time.ts'
import type { Output } from '../../media/shape.ts'
import { GUESTS_KEY } from '../../payment/x402.ts'
import type { Run, RunOutput, RunResult, RunState } from '../../store/calls/run-port.ts'
import { type Told, tellsNothing, termsIn, told } from '../../tenancy/terms.ts'
import { containsBytes, type Results, type ShownOutput, written } from '../answer/media-results.ts'
import { jobShapeOf } from '../hold/job-hold.ts'
import type { Gateway } from '../parts/gateway.ts'
import { cancelCost } from './cancel-cost.ts'

export const shownStates = {
  submitting: 'queued',
  running: 'running',
  done: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<RunState, string>

type Delivered = Exclude<RunResult, { readonly error: object }>

/** Lets a caller without a key see the run that it paid for. */
const provenBy = (id: string): string => `run ${id}`

export const isRunToken = ({ hash }: Pick<Gateway, 'hash'>, id: string, token: string): boolean =>
  isOurs(hash, provenBy(id), token)

const addressOf = (gateway: Gateway, { id, keyId }: Run): string => {
  const token = keyId === GUESTS_KEY ? `?token=${gateway.hash(provenBy(id))}` : ''
  return `${gateway.assets?.base() ?? ''}/v1/run/${id}${token}`
}

/** When it ended: if it delivered, as its first answer said it. */
const endOf = ({ result, endedAt }: Run): JsonObject => {
  const end = result !== undefined && 'endedAt' in result ? result.endedAt : endedAt
  return end === undefined ? {} : { ended_at: new Date(end).toISOString() }
}

/** What the key of a run is told of money, and so whoever reads the run: as of the month that the run counts in. */
export const termsOfRun = async ({ book }: Gateway, { keyId, createdAt }: Run): Promise<Told> => {
  const terms = keyId === GUESTS_KEY ? undefined : await book.termsOf(keyId)
  return terms && termsIn(terms, monthOf(createdAt))
}

const usdAs = (name: string, amount: Nano, terms: Told) =>
  tellsNothing(terms) ? {} : { [name]: usdNumber(told(amount, terms)) }

/** The members that a run shows in every state, and when it ended. */
export const moreOf = (gateway: Gateway, run: Run, state: RunState, terms: Told): JsonObject => ({
  status: shownStates[state],
  created_at: new Date(run.createdAt).toISOString(),
  ...endOf(run),
  poll_url: addressOf(gateway, run),
  ...usdAs('max_cost_usd', run.hold, terms),
})

/** The run without its results. */
export const shownRun = async (gateway: Gateway, run: Run): Promise<JsonObject> => {
  const terms = await termsOfRun(gateway, run)
  const { id, model, facts, state, progress, cancel, result } = run
  const open = run.endedAt === undefined
  const shape = open ? jobShapeOf(gateway.offering, model) : undefined
  return {
    id,
    object: 'run',
    model: facts?.modelName ?? model,
    ...moreOf(gateway, run, state, terms),
    ...(shape?.cancel === undefined
      ? {}
      : { cancel_url: addressOf(gateway, run), ...usdAs('cancel_cost_usd', cancelCost(run, shape), terms) }),
    ...(open && progress !== undefined ? { progress: progress / 1000 } : {}),
    ...(open && cancel ? { cancel_requested: true } : {}),
    ...(result !== undefined && 'error' in result
      ? { error: { ...result.error.members, ...pick(result.error) } }
      : {}),
  }
}

const pick = ({ code, message }: { readonly code: string; readonly message: string }) => ({ code, message })

/** Why an ended run delivered nothing. */
export const errorOf = ({ result, id }: Run): Refusal | undefined => {
  if (result === undefined || !('error' in result)) return undefined
  const { code, message, members = {} } = result.error
  return refuse(code, message, { members: { ...members, run_id: id } })
}

/** An output with bytes, of which only the place is known. */
const outputOf = (output: RunOutput): Output =>
  output.type === 'text' || output.type === 'json' ? output : { ...output, from: { base64: '' } }

/** The results, with addresses that are valid from now on. An asset that is gone has none. */
const resultsOf = async (gateway: Gateway, run: Run, it: Delivered, bytesToo: boolean): Promise<Results> => {
  const shown: ShownOutput[] = []
  const bytes: Uint8Array[] = []
  for (const [index, output] of it.outputs.entries()) {
    if (output.type === 'text' || output.type === 'json') shown.push(output)
    else {
      const asset = await gateway.assets?.kept(run.id, index, output.type)
      if (asset === undefined) shown.push({ type: 'json', value: { type: output.type, url: null } })
      else {
        shown.push(asset)
        if (bytesToo) bytes.push((await gateway.assets?.bytes(asset.id)) ?? new Uint8Array())
      }
    }
  }
  const { body, transcript } = it
  return {
    done: { outputs: it.outputs.map(outputOf), body, ...(transcript === undefined ? {} : { transcript }) },
    shown,
    bytes,
    createdS: Math.floor(run.createdAt / 1000),
    more: moreOf(gateway, run, 'done', await termsOfRun(gateway, run)),
  }
}

/** The answer of a successful run, in a given form. */
export const deliveredAnswer = async (gateway: Gateway, run: Run, style = run.facts?.style) => {
  const { result, facts } = run
  if (result === undefined || 'error' in result || facts === undefined) return undefined
  const results = style ?? 'run'
  const callRef = { call: { media: { results }, modelName: facts.modelName }, trace: { callId: run.id } }
  const it = await resultsOf(gateway, run, result, containsBytes(results))
  const { usage, bill } = result
  const last = written(callRef, it, { usage, bill, charged: BigInt(result.charged) })
  const otherHeaders = { ...result.headers, 'cache-control': 'no-store', 'content-type': 'application/json' }
  const headers = results === facts.style ? result.headers : otherHeaders
  return { status: 200, headers, body: last.bytes(undefined, undefined) }
}

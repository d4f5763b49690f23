/** Runs a product for a tool: the same call as POST /v1/run, with the same key, rates, caps, rules and payments. */
import { isObject, type Json, type JsonObject, parseJson, present } from '../../core/json-body.ts'
import { invalid } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import type { Clock } from '../../core/time.ts'
import { runCall } from '../../gateway/call/run-call.ts'
import type { Incoming } from '../../gateway/enter/incoming.ts'
import { jobShapeOf } from '../../gateway/hold/job-hold.ts'
import { cancelIfFree } from '../../gateway/jobs/cancel-run.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { decodeRun } from '../calls/media-calls.ts'
import { originOfCall } from '../request/origin.ts'
import type { McpCall } from './context.ts'
import { inlineOf } from './inline.ts'
import { credentialIn, paymentDue, paymentIn, settlementIn } from './payment.ts'
import { type CallRequest, contentOf, type ToolResult } from './result.ts'

type Run = {
  /** The tool by which it was called. */
  readonly tool: string
  readonly model: string
  readonly inputs: Json
  readonly meta: JsonObject
}

const encoder = new TextEncoder()
/** What HTTP callers say in the headers of a run comes in `_meta` here. */
const NO_HEADERS = new Headers()

const option = (meta: JsonObject, name: string): string | undefined => {
  const value = meta[`turnpike/${name}`]
  if (value === undefined || value === null) return undefined
  // In the headers of HTTP there is nothing that the ledger cannot store.
  if (typeof value === 'string') return storable(value)
  // A small amount would be written with an exponent, which is no decimal amount.
  if (typeof value === 'number') return String(value).includes('e') ? value.toFixed(9) : String(value)
  throw invalid(name, `'${name}' must be a text.`)
}

const incomingOf = (it: McpCall, { signal }: CallRequest, run: Run): Incoming => {
  const { call, authorization, gateway } = it
  const { tool, model, inputs, meta } = run
  if (isObject(inputs) && inputs.stream === true)
    throw invalid('inputs.stream', 'A tool answers whole; leave `stream` out.')
  return {
    // A repeat may come by HTTP or by a tool: both count as the same call.
    endpoint: 'run',
    decode: (body, modelNamed) => decodeRun(body, modelNamed, NO_HEADERS),
    authorization,
    maxCostUsd: option(meta, 'max_cost_usd'),
    subWallet: option(meta, 'sub_wallet'),
    tags: option(meta, 'tags'),
    requires: option(meta, 'require'),
    paymentProtocol: option(meta, 'payment_protocol'),
    payment: {
      url: `mcp://tool/${tool}`,
      origin: () => originOfCall(gateway, call),
      v2: paymentIn(meta),
      v1: undefined,
      mpp: credentialIn(meta),
      headers: call.headers,
      remade: true,
    },
    idempotencyKey: option(meta, 'idempotency_key'),
    readBody: async () => encoder.encode(JSON.stringify({ model, inputs })),
    signal: AbortSignal.any([signal, call.request.signal]),
  }
}

const wholeOf = async ({ body }: Answer): Promise<Uint8Array> => {
  if (body instanceof Uint8Array) return body
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}

const decoder = new TextDecoder()

/** A job that has not ended yet. */
const runsOn = ({ id, status }: JsonObject): ToolResult['content'] => [
  {
    type: 'text',
    text: `The run ${String(id)} is ${String(status)}: call get_run with its id for the result.`,
  },
]

/** After how many seconds the call is answered, if only by saying that its job runs on. */
const mostSeconds = ({ offering, options }: Gateway, { model }: Run): number => {
  const { runWaitMs, timeouts } = options
  const isJob = jobShapeOf(offering, model) !== undefined
  return Math.ceil((isJob ? Math.min(runWaitMs, timeouts.totalMs) : timeouts.totalMs) / 1_000)
}

/**
 * Ends the job of a call that its caller gives up, where that is free. One with an Idempotency-Key goes on: its caller
 * may have lost the connection alone, and comes back for it.
 */
const endingWith = async <T>(
  gateway: Gateway,
  { signal, idempotencyKey }: Incoming,
  id: string,
  work: () => Promise<T>,
): Promise<T> => {
  const end = () => void cancelIfFree(gateway, id)
  if (idempotencyKey !== undefined) return work()
  signal.addEventListener('abort', end, { once: true })
  try {
    return await work()
  } finally {
    signal.removeEventListener('abort', end)
    // It was given up before there was a job.
    if (signal.aborted) end()
  }
}

export const runTool = async (it: McpCall, req: CallRequest, run: Run): Promise<ToolResult> => {
  const { gateway, call } = it
  const incoming = incomingOf(it, req, run)
  const answer = await tellingProgress(gateway.clock, req, mostSeconds(gateway, run), () =>
    endingWith(gateway, incoming, call.trace.callId, () => runCall(gateway, incoming, call.trace)),
  )
  if (answer.status === 402) return paymentDue(answer, req.envelope)
  const body = parseJson(decoder.decode(await wholeOf(answer)))
  const result = isObject(body) ? body : {}
  const { 'x-cost-usd': cost, 'x-receipt': receipt } = answer.headers
  return {
    structuredContent: result,
    content: answer.status === 202 ? runsOn(result) : [...contentOf(result), ...(await inlineOf(it, result))],
    _meta: {
      'turnpike/run_id': call.trace.callId,
      ...present({ 'turnpike/cost_usd': cost, 'turnpike/receipt': receipt }),
      ...settlementIn(it),
    },
  }
}

const EVERY_MS = 1_000

/**
 * Reports once at the start and then every second how many seconds the work has taken, until it ends; `total` are those
 * after which it is answered in any case.
 */
const tellingProgress = async <T>(
  clock: Clock,
  { _meta, notify, signal }: CallRequest,
  total: number,
  work: () => Promise<T>,
): Promise<T> => {
  const token = _meta?.progressToken
  if (token === undefined) return work()
  let over = false
  const tell = (progress: number) =>
    notify({
      method: 'notifications/progress',
      params: {
        progressToken: token,
        progress: Math.min(progress, total),
        total,
        message: 'The product is at work.',
      },
    }).catch(() => undefined)
  const telling = async (): Promise<void> => {
    for (let seconds = 1; !over && !signal.aborted; seconds++) {
      await clock.sleep(EVERY_MS)
      if (!over) await tell(seconds)
    }
  }
  await tell(0)
  void telling()
  try {
    return await work()
  } finally {
    over = true
  }
}

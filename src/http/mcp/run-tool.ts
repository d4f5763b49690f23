/** Runs a product for a tool: the same call as POST /v1/run, with the same key, rates, caps, rules and payments. */
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json-body.ts'
import { invalid } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { runCall } from '../../gateway/call/run-call.ts'
import type { Incoming } from '../../gateway/enter/incoming.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { decodeRun } from '../calls/media-calls.ts'
import { originOfCall } from '../request/origin.ts'
import type { McpCall } from './context.ts'
import { paymentDue, paymentIn, settlementIn } from './payment.ts'
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
  if (typeof value === 'string') return value
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
    paymentProtocol: option(meta, 'payment_protocol'),
    payment: {
      url: `mcp://tool/${tool}`,
      origin: () => originOfCall(gateway, call),
      v2: paymentIn(meta),
      v1: undefined,
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

export const runTool = async (it: McpCall, req: CallRequest, run: Run): Promise<ToolResult> => {
  const { gateway, call } = it
  const answer = await tellingProgress(gateway.clock, req, () =>
    runCall(gateway, incomingOf(it, req, run), call.trace),
  )
  if (answer.status === 402) return paymentDue(answer.headers['payment-required'], req.envelope)
  const body = parseJson(decoder.decode(await wholeOf(answer)))
  const result = isObject(body) ? body : {}
  const { 'x-cost-usd': cost, 'x-receipt': receipt } = answer.headers
  return {
    structuredContent: result,
    content: answer.status === 202 ? runsOn(result) : contentOf(result),
    _meta: {
      'turnpike/run_id': call.trace.callId,
      ...(cost === undefined ? {} : { 'turnpike/cost_usd': cost }),
      ...(receipt === undefined ? {} : { 'turnpike/receipt': receipt }),
      ...settlementIn(it),
    },
  }
}

const EVERY_MS = 1_000

/** Reports once at the start and then every second how many seconds the work has taken, until it ends. */
const tellingProgress = async <T>(
  clock: Clock,
  { _meta, notify, signal }: CallRequest,
  work: () => Promise<T>,
): Promise<T> => {
  const token = _meta?.progressToken
  if (token === undefined) return work()
  let over = false
  const tell = (progress: number) =>
    notify({
      method: 'notifications/progress',
      params: { progressToken: token, progress, message: 'The product is at work.' },
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

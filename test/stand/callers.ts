/** Callers with books of their own: official clients and plain fetch, whole and streamed, each call once or until it is answered. */
import OpenAI, { APIError } from 'openai'
import { costOf } from '../chaos/load.ts'
import type { Order } from '../chaos/upstream.ts'
import type { Cell, Payer } from './cell.ts'

/** What a caller knows of one request. */
export type Seen = {
  readonly cell: string
  /** 0 if there was no answer. */
  readonly status: number
  /** What the refusal was called. */
  readonly code: string
  /** All of the answer arrived. */
  readonly complete: boolean
  readonly callId: string
  /** What the answer said it cost, nano-USD. */
  readonly costNano: bigint | undefined
  /** The name under which it was repeated. */
  readonly repeated: string | undefined
  /** Its name at the vendor. */
  readonly orderId: string
  readonly beganMs: number
  readonly endedMs: number
}

export type Callers = {
  readonly seen: readonly Seen[]
  /** Whether a call that began before then is still open. */
  isOpenSince(atMs: number): boolean
  /** How many calls of the cell were begun to be repeated, whatever became of them. */
  repeatedIn(cell: string): number
  /** Resolves when all calls have ended, repeated ones with their answer. */
  stop(): Promise<void>
}

/** A call that hangs for so long has no answer. */
const PATIENCE_MS = 45_000
const CALLERS_EACH = 2
const NANO_IN_USD = 1e9

type Got = Pick<Seen, 'status' | 'code' | 'complete' | 'callId' | 'costNano'>
const NOTHING: Got = { status: 0, code: '', complete: false, callId: '', costNano: undefined }

type Ask = Named & { readonly base: string; readonly payer: Payer; readonly stream: boolean }
type Named = { readonly order: Order; readonly repeated?: string }

const bodyOf = ({ order }: Ask) => ({
  model: 'mock/m',
  max_tokens: order.output + 10,
  messages: [{ role: 'user' as const, content: JSON.stringify(order) }],
})

/** The cost in the usage of an answer: a number of USD beside the members that the client knows. */
const costIn = (usage: unknown): bigint | undefined => {
  const { cost } = (usage ?? {}) as { cost?: number }
  return cost === undefined ? undefined : BigInt(Math.round(cost * NANO_IN_USD))
}

const byOpenai = async (ask: Ask): Promise<Got> => {
  const client = new OpenAI({
    apiKey: ask.payer.token,
    baseURL: `${ask.base}/v1`,
    maxRetries: 0,
    timeout: PATIENCE_MS,
  })
  let got = NOTHING
  try {
    if (!ask.stream) {
      const { data, response } = await client.chat.completions.create(bodyOf(ask)).withResponse()
      const callId = response.headers.get('x-request-id') ?? ''
      return { ...NOTHING, status: response.status, complete: true, callId, costNano: costIn(data.usage) }
    }
    const { data, response } = await client.chat.completions
      .create({ ...bodyOf(ask), stream: true, stream_options: { include_usage: true } })
      .withResponse()
    got = { ...NOTHING, status: response.status, callId: response.headers.get('x-request-id') ?? '' }
    for await (const part of data)
      if (part.usage) got = { ...got, complete: true, costNano: costIn(part.usage) }
    return got
  } catch (fault) {
    if (!(fault instanceof APIError) || fault.status === undefined) return { ...got, complete: false }
    const callId = fault.headers?.get('x-request-id') ?? ''
    return { ...NOTHING, status: fault.status, code: String(fault.code ?? ''), callId }
  }
}

const byFetch = async (ask: Ask): Promise<Got> => {
  let got = NOTHING
  try {
    const response = await fetch(`${ask.base}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${ask.payer.token}`,
        'content-type': 'application/json',
        ...(ask.repeated === undefined ? {} : { 'idempotency-key': ask.repeated }),
      },
      body: JSON.stringify({ ...bodyOf(ask), stream: ask.stream }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    got = { ...NOTHING, status: response.status, callId: response.headers.get('x-request-id') ?? '' }
    const text = await response.text()
    if (!response.ok) return { ...got, code: /"code": ?"([a-z_]+)"/.exec(text)?.[1] ?? '' }
    const complete = ask.stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}')
    return { ...got, complete, costNano: costOf(ask.stream, response, text) }
  } catch {
    return got
  }
}

/** Starts all: `random` draws what they ask for. */
export const startCallers = (base: string, cells: readonly Cell[], random: () => number): Callers => {
  const seen: Seen[] = []
  const open = new Map<string, number>()
  const begun = new Map<string, number>()
  let running = true
  const pick = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  const order = (): Order => ({
    id: crypto.randomUUID(),
    input: pick(1, 60),
    output: pick(1, 120),
    delayMs: pick(0, 100),
    fail: '',
  })
  const note = async (
    cell: string,
    { order: { id: orderId }, repeated }: Named,
    asked: () => Promise<Got>,
  ) => {
    const [id, beganMs] = [crypto.randomUUID(), Date.now()]
    open.set(id, beganMs)
    const got = await asked()
    open.delete(id)
    seen.push({ ...got, cell, repeated, orderId, beganMs, endedMs: Date.now() })
    return got
  }
  const rest = () => Bun.sleep(pick(60, 180))
  const once = async ({ name, once: payer }: Cell, by: typeof byOpenai): Promise<void> => {
    for (; running; await rest()) {
      const ask = { base, payer, order: order(), stream: random() < 0.5 }
      await note(name, ask, () => by(ask))
    }
  }
  const repeating = async ({ name, repeating: payer }: Cell): Promise<void> => {
    for (; running; await rest()) {
      const repeated = crypto.randomUUID()
      const ask = { base, payer, order: order(), stream: random() < 0.5, repeated }
      begun.set(name, (begun.get(name) ?? 0) + 1)
      while (!(await note(name, ask, () => byFetch(ask))).complete) await rest()
      // A repeat of an answered call costs nothing.
      if (random() < 0.2) await note(name, ask, () => byFetch(ask))
    }
  }
  const workers = cells.flatMap((cell) =>
    Array.from({ length: CALLERS_EACH }, () => [
      once(cell, byOpenai),
      once(cell, byFetch),
      repeating(cell),
    ]).flat(),
  )
  return {
    seen,
    isOpenSince: (atMs) => [...open.values()].some((beganMs) => beganMs <= atMs),
    repeatedIn: (cell) => begun.get(cell) ?? 0,
    stop: async () => {
      running = false
      await Promise.all(workers)
    },
  }
}

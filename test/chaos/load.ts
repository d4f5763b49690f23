/** The load: calls of every kind, and what their callers saw of them. */
import { type CallerBooks, type Limit, openCallerBooks } from './callers.ts'
import { INPUT_NANO, MAX_OUTPUT, OUTPUT_NANO } from './gateways.ts'
import { type Note, type Order, textOf } from './upstream.ts'

export type CallResult = {
  readonly callId: string
  /** The origin of the process that answered. */
  readonly address: string
  readonly orderId: string
  readonly key: string
  readonly mode: 'wallet' | 'mpp' | 'x402'
  readonly status: number
  /** The whole answer arrived: a JSON body, or a stream up to `[DONE]`. */
  readonly complete: boolean
  /** It arrived, but was ended before the vendor had said all. */
  readonly cut: boolean
  /** How a whole answer differs from the vendor's, to the letter; undefined when it does not. */
  readonly strayed: string | undefined
  readonly costNano: bigint | undefined
  readonly dueNano: bigint
  readonly idempotencyKey: string | undefined
  readonly atMs: number
}

/** One call as its caller recorded it: whose it was, and the most it may be charged. */
export type Sent = { readonly key: string; readonly boundNano: bigint }

export type Load = {
  readonly seen: CallResult[]
  /** By the caller's own name of the call. */
  readonly sent: ReadonlyMap<string, Sent>
  readonly books: CallerBooks
  stop(): Promise<void>
  readonly unreachable: () => number
  readonly abandoned: () => number
}

const nanoOf = (decimal: string): bigint => {
  const [whole = '0', fraction = ''] = decimal.split('.')
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
}

const COST_COMMENT = /: x-cost-usd: ([\d.]+)/

/** The cost in an answer. */
export const costOf = (stream: boolean, response: Response, text: string): bigint | undefined => {
  const cost = stream ? COST_COMMENT.exec(text)?.[1] : response.headers.get('x-cost-usd')
  return cost == null ? undefined : nanoOf(cost)
}

export const dueOf = ({ input, output }: Order): bigint =>
  BigInt(input) * INPUT_NANO + BigInt(output) * OUTPUT_NANO

/** The text that a caller of chat completions got. */
const contentOf = (stream: boolean, text: string): string =>
  stream
    ? [...text.matchAll(/^data: (\{.*\})$/gm)]
        .map(([, data = '']) => JSON.parse(data).choices?.[0]?.delta?.content ?? '')
        .join('')
    : (JSON.parse(text).choices?.[0]?.message?.content ?? '')

/** Compares an answer with what the vendor was ordered to say. */
export const arrival = (order: Order, stream: boolean, response: Response, text: string) => {
  const complete = response.ok && (stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}'))
  const cut = complete && /"finish_reason":\s*"length"/.test(text)
  const [got, given] = complete ? [contentOf(stream, text), textOf(order, stream).join('')] : ['', '']
  const strayed =
    cut || got === given ? undefined : `${got.length} letters of ${given.length}: ${text.slice(-600)}`
  return { complete, cut, strayed }
}

/** A key of the load: whether its wallet also has a credit line, a sub-wallet its calls may name, and what limits it. */
export type LoadKey = {
  readonly token: string
  readonly id: string
  readonly onCredit: boolean
  readonly sub: string | undefined
  /** The limits that a call counts against. */
  readonly limits: (mode: 'wallet' | 'mpp', named: boolean) => readonly Limit[]
}

type Call = {
  readonly kind: 'json' | 'stream'
  readonly key: LoadKey
  readonly order: Order
  readonly mode: 'wallet' | 'mpp'
  readonly named: boolean
  readonly maxTokens: number | undefined
  readonly idempotencyKey: string | undefined
  /** The process that is asked; any, where it is left out. */
  readonly address?: string | undefined
}

/** The smallest bound under which a call can be answered, and the most it can cost. */
type Bounds = { readonly least: bigint; readonly most: bigint }

/** Tokens that bound the input: for each byte of the body, and beside them. */
const BESIDE_TOKENS = 200
/** A call without a bound of its own gets a tenth of the model's. */
const LEAST_SHARE = 10

type LoadParts = {
  readonly addresses: readonly string[]
  readonly keys: readonly LoadKey[]
  /** A key with enough money, and one whose cap is below the model's own bound. */
  readonly rich: LoadKey
  readonly capped: LoadKey
  readonly notes: ReadonlyMap<string, Note>
  readonly random: () => number
  readonly connections: number
}

export const startLoad = (parts: LoadParts): Load => {
  const { addresses, keys, notes, random, connections } = parts
  const seen: CallResult[] = []
  const sent = new Map<string, Sent>()
  const books = openCallerBooks()
  let running = true
  let unreachable = 0
  let abandoned = 0
  const pick = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))

  const post = (call: Call, body: string) =>
    fetch(`${call.address ?? addresses[pick(0, addresses.length - 1)]}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${call.key.token}`,
        'content-type': 'application/json',
        'x-payment-protocol': call.mode,
        ...(call.named && call.key.sub !== undefined ? { 'x-sub-wallet': call.key.sub } : {}),
        ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
      },
      body,
      signal: AbortSignal.timeout(40_000),
    })

  /** Records the answer; returns whether there is nothing more to ask. */
  const note = (call: Call, response: Response, text: string, { least, most }: Bounds): boolean => {
    const { kind, key, order, mode, idempotencyKey } = call
    const arrived = arrival(order, kind === 'stream', response, text)
    const costNano = costOf(kind === 'stream', response, text)
    seen.push({
      ...arrived,
      address: new URL(response.url).origin,
      callId: response.headers.get('x-request-id') ?? '',
      orderId: order.id,
      key: key.id,
      mode,
      status: response.status,
      costNano,
      dueNano: dueOf(order),
      idempotencyKey,
      atMs: Date.now(),
    })
    if (response.status === 402) books.refused(order.id, least, text.slice(0, 400))
    const refused = response.status >= 400 && response.status < 500
    if (arrived.complete) books.end(order.id, costNano ?? 0n)
    else if (refused || !notes.has(order.id)) books.end(order.id, 0n)
    else books.lose(order.id, most)
    return arrived.complete || (refused && response.status !== 409 && response.status !== 429)
  }

  const send = async (call: Call): Promise<boolean> => {
    const { kind, key, order, mode, named, maxTokens } = call
    const leave = kind === 'stream' && call.idempotencyKey === undefined && random() < 0.1
    const body = JSON.stringify({
      model: 'mock/m',
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
      stream: kind === 'stream',
      messages: [{ role: 'user', content: JSON.stringify(order) }],
    })
    const bound = (output: number) =>
      BigInt(body.length + BESIDE_TOKENS) * INPUT_NANO + BigInt(output) * OUTPUT_NANO
    const boundNano = bound(maxTokens ?? MAX_OUTPUT)
    // The delivered part has no more tokens than the vendor was ordered to say.
    const most = bound(order.output)
    sent.set(order.id, { key: key.id, boundNano })
    books.send(order.id, key.limits(mode, named), boundNano)
    try {
      const response = await post(call, body)
      if (leave && response.ok) {
        abandoned++
        const reader = response.body?.getReader()
        await reader?.read()
        await reader?.cancel()
        books.lose(order.id, most)
        return true
      }
      const least = bound(maxTokens ?? MAX_OUTPUT / LEAST_SHARE)
      return note(call, response, await response.text(), { least, most })
    } catch (fault) {
      unreachable++
      // Nobody was there, so nothing was asked.
      if (fault instanceof Error && 'code' in fault && fault.code === 'ConnectionRefused')
        books.end(order.id, 0n)
      else books.lose(order.id, most)
      return false
    }
  }

  const newCall = (): Call => {
    const key = keys[pick(0, keys.length - 1)]!
    const roll = random()
    const fail = roll > 0.97 ? 'status' : roll > 0.94 ? 'break' : ''
    const order: Order = {
      id: crypto.randomUUID(),
      input: pick(1, 60),
      output: pick(1, 120),
      delayMs: pick(0, 60),
      fail,
    }
    return {
      kind: random() < 0.5 ? 'json' : 'stream',
      key,
      order,
      mode: key.onCredit && random() < 0.4 ? 'mpp' : 'wallet',
      named: key.sub !== undefined && random() < 0.5,
      maxTokens: random() < 0.05 ? undefined : order.output + pick(0, 20),
      idempotencyKey: undefined,
    }
  }

  const work = async (): Promise<void> => {
    while (running) {
      const call = newCall()
      if (random() < 0.1) {
        const order: Order = { ...call.order, fail: '' }
        const steady = { ...call, order, idempotencyKey: crypto.randomUUID() }
        for (let tries = 0; tries < 12 && running; tries++) {
          if (await send(steady)) break
          await Bun.sleep(pick(50, 400))
        }
        // A retry of an answered call must get the same answer and cost nothing.
        if (random() < 0.3) await send(steady)
      } else if (!(await send(call))) await Bun.sleep(pick(5, 60))
      if (seen.at(-1)?.status === 402 || seen.at(-1)?.status === 403) await Bun.sleep(pick(100, 400))
    }
  }

  /**
   * Streams without a bound of their own that outlive leases and outgrow their first hold, on a key with enough money.
   */
  const workLong = async (address?: string): Promise<void> => {
    while (running) {
      const output = pick(4_500, 6_000)
      const order: Order = {
        id: crypto.randomUUID(),
        input: 20,
        output,
        delayMs: pick(11_000, 15_000),
        fail: '',
        long: true,
      }
      const call = { kind: 'stream', key: parts.rich, order, mode: 'wallet', named: false, address } as const
      await send({ ...call, maxTokens: undefined, idempotencyKey: undefined })
      await Bun.sleep(pick(50, 500))
    }
  }
  /**
   * One call after the other, each of which may hold all that is left under its cap: the next gets what it did not use.
   */
  const workCapped = async (): Promise<void> => {
    while (running) {
      const { order } = newCall()
      const call = { kind: 'json', key: parts.capped, order, mode: 'wallet', named: false } as const
      await send({ ...call, maxTokens: undefined, idempotencyKey: undefined })
      await Bun.sleep(seen.at(-1)?.key === parts.capped.id && seen.at(-1)?.status === 200 ? pick(1, 50) : 500)
    }
  }
  const workers = [
    workCapped(),
    ...Array.from({ length: connections }, work),
    // The first process is never killed, so most of its long streams come to their end.
    workLong(addresses[0]),
    workLong(addresses[0]),
    workLong(),
  ]
  return {
    seen,
    sent,
    books,
    unreachable: () => unreachable,
    abandoned: () => abandoned,
    stop: async () => {
      running = false
      await Promise.all(workers)
    },
  }
}

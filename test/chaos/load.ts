/** The load: calls of every kind, and what their callers saw of them. */
import { INPUT_NANO, OUTPUT_NANO } from './gateways.ts'
import type { Order } from './upstream.ts'

export type Seen = {
  readonly callId: string
  readonly key: string
  readonly mode: 'wallet' | 'mpp' | 'x402'
  readonly status: number
  /** The whole answer arrived: a JSON body, or a stream up to `[DONE]`. */
  readonly complete: boolean
  readonly costNano: bigint | undefined
  readonly dueNano: bigint
  readonly idempotencyKey: string | undefined
  readonly atMs: number
}

export type Load = {
  readonly seen: Seen[]
  stop(): Promise<void>
  readonly unreachable: () => number
  readonly abandoned: () => number
}

const nanoOf = (decimal: string): bigint => {
  const [whole = '0', fraction = ''] = decimal.split('.')
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
}

const COST_COMMENT = /: x-cost-usd: ([\d.]+)/

/** The cost an answer told. */
export const costOf = (stream: boolean, response: Response, text: string): bigint | undefined => {
  const cost = stream ? COST_COMMENT.exec(text)?.[1] : response.headers.get('x-cost-usd')
  return cost == null ? undefined : nanoOf(cost)
}

/** A key of the load: whether its wallet also has a credit line, and a sub-wallet its calls may name. */
export type LoadKey = {
  readonly token: string
  readonly id: string
  readonly onCredit: boolean
  readonly sub: string | undefined
}

export const startLoad = (
  addresses: readonly string[],
  keys: readonly LoadKey[],
  random: () => number,
  connections: number,
): Load => {
  const seen: Seen[] = []
  let running = true
  let unreachable = 0
  let abandoned = 0
  const pick = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))

  const send = async (
    kind: 'json' | 'stream',
    key: LoadKey,
    order: Order,
    idempotencyKey: string | undefined,
  ): Promise<boolean> => {
    const leave = kind === 'stream' && idempotencyKey === undefined && random() < 0.1
    const mode = key.onCredit && random() < 0.4 ? 'mpp' : 'wallet'
    const named = key.sub !== undefined && random() < 0.5 ? { 'x-sub-wallet': key.sub } : {}
    const dueNano = BigInt(order.input) * INPUT_NANO + BigInt(order.output) * OUTPUT_NANO
    try {
      const response = await fetch(`${addresses[pick(0, addresses.length - 1)]}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key.token}`,
          'content-type': 'application/json',
          'x-payment-protocol': mode,
          ...named,
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        body: JSON.stringify({
          model: 'mock/m',
          max_tokens: order.output + pick(0, 20),
          stream: kind === 'stream',
          messages: [{ role: 'user', content: JSON.stringify(order) }],
        }),
        signal: AbortSignal.timeout(25_000),
      })
      const callId = response.headers.get('x-request-id') ?? ''
      if (leave && response.ok) {
        abandoned++
        const reader = response.body?.getReader()
        await reader?.read()
        await reader?.cancel()
        return true
      }
      const text = await response.text()
      const complete =
        response.ok && (kind === 'json' ? text.endsWith('}') : text.endsWith('data: [DONE]\n\n'))
      seen.push({
        callId,
        key: key.id,
        mode,
        status: response.status,
        complete,
        costNano: costOf(kind === 'stream', response, text),
        dueNano,
        idempotencyKey,
        atMs: Date.now(),
      })
      return (
        complete ||
        (response.status >= 400 &&
          response.status < 500 &&
          response.status !== 409 &&
          response.status !== 429)
      )
    } catch {
      unreachable++
      return false
    }
  }

  const work = async (): Promise<void> => {
    while (running) {
      const key = keys[pick(0, keys.length - 1)]!
      const roll = random()
      const fail = roll > 0.97 ? 'status' : roll > 0.94 ? 'break' : ''
      const order: Order = { input: pick(1, 60), output: pick(1, 120), delayMs: pick(0, 60), fail }
      const kind = random() < 0.5 ? 'json' : 'stream'
      if (random() < 0.1) {
        const idempotencyKey = crypto.randomUUID()
        const steady: Order = { ...order, fail: '' }
        for (let tries = 0; tries < 12 && running; tries++) {
          if (await send(kind, key, steady, idempotencyKey)) break
          await Bun.sleep(pick(50, 400))
        }
        // A retry of what was answered must get the same answer and cost nothing.
        if (random() < 0.3) await send(kind, key, steady, idempotencyKey)
      } else if (!(await send(kind, key, order, undefined))) await Bun.sleep(pick(5, 60))
      if (seen.at(-1)?.status === 402 || seen.at(-1)?.status === 403) await Bun.sleep(pick(20, 80))
    }
  }
  const workers = Array.from({ length: connections }, work)
  return {
    seen,
    unreachable: () => unreachable,
    abandoned: () => abandoned,
    stop: async () => {
      running = false
      await Promise.all(workers)
    },
  }
}

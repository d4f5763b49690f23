/**
 * Callers who pay call by call: they ask for a quote, sign, send until they are answered, and claim the change, twice.
 */
import { POOR } from './facilitator.ts'
import { arrival, type CallResult, costOf, dueOf } from './load.ts'
import type { Order } from './upstream.ts'

export type Payers = {
  /** Payments whose caller learnt that the change is its own. */
  readonly claimed: () => number
  /** Changes that two claimants got. */
  readonly claimedTwice: () => number
  readonly signed: () => number
  stop(): Promise<void>
}

type Key = { readonly token: string; readonly id: string }

type Paid = {
  readonly body: string
  readonly headers: Record<string, string>
  readonly stream: boolean
  readonly order: Order
  readonly nonce: string
  readonly key: Key | undefined
}

const CALLERS = 6
/** How often what is not answered is sent. */
const TRIES = 12

/** `bearers` pay for calls of their own keys; guests claim their change with either of the two. */
export const startPayers = (
  addresses: readonly string[],
  bearers: readonly [Key, Key],
  seen: CallResult[],
  random: () => number,
): Payers => {
  let running = true
  let serial = 0
  let claimed = 0
  let claimedTwice = 0
  const pick = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  const post = (path: string, headers: Record<string, string>, body: string) =>
    fetch(`${addresses[pick(0, addresses.length - 1)]}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      signal: AbortSignal.timeout(15_000),
    })

  const sign = async (): Promise<Paid | undefined> => {
    const order: Order = {
      id: crypto.randomUUID(),
      input: pick(1, 60),
      output: pick(1, 120),
      delayMs: pick(0, 60),
      fail: '',
    }
    const stream = random() < 0.5
    const key = random() < 0.4 ? bearers[0] : undefined
    const body = JSON.stringify({
      model: 'mock/m',
      max_tokens: order.output + pick(0, 20),
      stream,
      messages: [{ role: 'user', content: JSON.stringify(order) }],
    })
    const headers = {
      'x-payment-protocol': 'x402',
      ...(key === undefined ? {} : { authorization: `Bearer ${key.token}` }),
    }
    const quote = await post('/v1/chat/completions', headers, body)
    await quote.text()
    const required = quote.headers.get('payment-required')
    if (quote.status !== 402 || required === null) return undefined
    const accepted = JSON.parse(Buffer.from(required, 'base64').toString()).accepts[0]
    const nonce = `0x${(++serial).toString(16).padStart(64, '0')}`
    const authorization = {
      from: (random() < 0.05 ? POOR : '0x').padEnd(42, 'f'),
      to: accepted.payTo,
      value: accepted.amount,
      validAfter: '0',
      validBefore: String(Math.floor(Date.now() / 1000) + 60),
      nonce,
    }
    const payment = { x402Version: 2, accepted, payload: { signature: '0xab', authorization } }
    const header = Buffer.from(JSON.stringify(payment)).toString('base64')
    return { body, headers: { ...headers, 'payment-signature': header }, stream, order, nonce, key }
  }

  /** Sends it once; returns whether there is nothing more to send, and the claim of the change. */
  const present = async (it: Paid): Promise<{ done: boolean; claim: string | null }> => {
    const response = await post('/v1/chat/completions', it.headers, it.body)
    const text = await response.text()
    const arrived = arrival(it.order, it.stream, response, text)
    const { complete } = arrived
    seen.push({
      ...arrived,
      address: new URL(response.url).origin,
      orderId: it.order.id,
      callId: response.headers.get('x-request-id') ?? '',
      key: it.key?.id ?? 'guest',
      mode: 'x402',
      status: response.status,
      costNano: costOf(it.stream, response, text),
      dueNano: dueOf(it.order),
      idempotencyKey: it.nonce,
      atMs: Date.now(),
    })
    const done = complete || response.status === 402
    return { done, claim: complete ? response.headers.get('x-change-claim') : null }
  }

  /** Asks until something definite is answered, as whoever wants the money does; returns the last status, 0 for none. */
  const claimAs = async (token: string, text: string): Promise<number> => {
    for (let tries = 1; ; tries++) {
      const status = await post(
        '/api/wallet/claim',
        { authorization: `Bearer ${token}` },
        JSON.stringify({ claim: text }),
      ).then(
        async (answer) => {
          await answer.text()
          return answer.status
        },
        () => 0,
      )
      if ((status > 0 && status < 500) || tries === TRIES || !running) return status
      await Bun.sleep(pick(50, 500))
    }
  }

  const claim = async (text: string): Promise<void> => {
    const asked = await Promise.all(bearers.map(({ token }) => claimAs(token, text)))
    const given = asked.filter((status) => status === 200).length
    if (given > 0) claimed++
    if (given > 1) claimedTwice++
  }

  const round = async (): Promise<void> => {
    const it = await sign()
    if (it === undefined) return
    for (let tries = 0; tries < TRIES; tries++) {
      // Two at once now and then: they are one call.
      const copies = random() < 0.2 ? [present(it), present(it)] : [present(it)]
      const answers = await Promise.allSettled(copies)
      const arrived = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
      const claimText = arrived.find((one) => one.claim !== null)?.claim
      if (claimText != null && random() < 0.7) await claim(claimText)
      if (arrived.some(({ done }) => done)) break
      // Some never come back: their payments are resolved without them.
      if (!running || random() < 0.1) return
      await Bun.sleep(pick(50, 500))
    }
    if (random() < 0.2) await present(it)
  }

  const work = async (): Promise<void> => {
    while (running) {
      await round().catch(() => undefined)
      await Bun.sleep(pick(5, 60))
    }
  }
  const workers = Array.from({ length: CALLERS }, work)
  return {
    claimed: () => claimed,
    claimedTwice: () => claimedTwice,
    signed: () => serial,
    stop: async () => {
      running = false
      await Promise.all(workers)
    },
  }
}

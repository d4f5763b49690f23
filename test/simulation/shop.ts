/**
 * What one process sells by x402: the product's own path of a call over its book and its connection to the database,
 * with a scripted vendor in virtual time.
 */
import type { Model } from '../../src/core/model.ts'
import { type Nano, nanoFromDecimal } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { Secret } from '../../src/core/secret.ts'
import { decodeChatCall } from '../../src/dialects/chat/call.ts'
import { runCall } from '../../src/gateway/call/run-call.ts'
import type { Gateway } from '../../src/gateway/parts/gateway.ts'
import { newTrace } from '../../src/gateway/parts/trace.ts'
import type { X402Options } from '../../src/payment/x402/offer.ts'
import type { Rail } from '../../src/payment/x402.ts'
import type { ChangePaid } from '../../src/store/payments/payment-port.ts'
import type { VendorFetch } from '../../src/vendors/setup.ts'
import { oneModel } from './one-model.ts'
import type { Version } from './payloads.ts'
import { gatewayOf, type Running } from './process.ts'
import type { World } from './world.ts'

export const BEARER = `sk-${'simulated'.repeat(3)}`

const model: Model = {
  id: 'mock/m',
  vendor: 'mock',
  upstreamName: 'm',
  kind: 'chat',
  price: { rates: { input: 1_000_000, output: 10_000_000 }, tiers: [], version: 't' },
  contextTokens: 100_000,
  maxOutputTokens: 4_000,
  capabilities: ['streaming'],
  imageTokensMax: 1_000,
}

/** A request's order to the vendor, with the usage it must report, so that the price is known beforehand. */
export type Order = {
  readonly id: number
  readonly input: number
  readonly output: number
  readonly ms: number
}

export const costOf = ({ input, output }: Order): Nano => BigInt(input) * 1_000n + BigInt(output) * 10_000n

export type Request = {
  readonly order: Order
  readonly stream: boolean
  readonly maxTokens: number
  readonly bearer: boolean
  readonly idempotencyKey?: string | undefined
  readonly payment?: { readonly version: Version; readonly header: string }
}

export type Reply = {
  readonly status: number
  /** The refusal's code, or why a payment is due. */
  readonly code: string
  readonly callId: string
  /** The whole answer arrived. */
  readonly complete: boolean
  readonly cost: Nano | undefined
  readonly headers: Readonly<Record<string, string>>
}

export type Shop = {
  ask(request: Request): Promise<Reply | undefined>
  claim(paymentId: string, wallet: string): Promise<ChangePaid | undefined>
}

const encoder = new TextEncoder()

const chunk = (choices: object[], more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`

const eventsOf = (order: Order, usage: object): string[] => [
  chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]),
  ...Array.from({ length: 3 }, () =>
    chunk([{ index: 0, delta: { content: `${order.id}` }, finish_reason: null }]),
  ),
  chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
  chunk([], { usage }),
  'data: [DONE]\n\n',
]

/**
 * Now and then it fails, or breaks off in mid-stream. A process that died has its requests broken off, so that its
 * timers end.
 */
const vendorOf = (world: World, { instance, alive }: Running): VendorFetch => {
  const { random, pick } = world.draws(`vendor of ${instance}`)
  const later = <T>(ms: number, value: () => T): Promise<T> =>
    new Promise((resolve, reject) =>
      world.after(ms, () => (alive() ? resolve(value()) : reject(new Error('the process is dead')))),
    )
  return async (_url, init) => {
    const body = JSON.parse(new TextDecoder().decode(init.body as Uint8Array))
    const order: Order = JSON.parse(body.messages.at(-1).content)
    const usage = {
      prompt_tokens: order.input,
      completion_tokens: order.output,
      total_tokens: order.input + order.output,
    }
    await later(order.ms, () => undefined)
    if (random() < (order.id % 8 === 0 ? 0.9 : 0.05))
      return new Response('{"error":{"message":"busy"}}', { status: 500 })
    if (body.stream !== true)
      return Response.json({
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [
          { index: 0, message: { role: 'assistant', content: `${order.id}` }, finish_reason: 'stop' },
        ],
        usage,
      })
    const events = eventsOf(order, usage)
    const broken = random() < 0.05 ? pick(1, 4) : events.length
    let sent = 0
    const stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          await later(pick(1, 60), () => undefined)
          const event = events[sent]
          if (event === undefined || sent++ >= broken) controller.close()
          else controller.enqueue(encoder.encode(event))
        },
      },
      { highWaterMark: 0 },
    )
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
  }
}

const COST_COMMENT = /: x-cost-usd: ([\d.]+)/

/** Opens the shop of a process; it answers nothing until it has reached the ledger. */
export const openShop = (world: World, process: Running, rail: Rail, takes?: X402Options): Shop => {
  const offering = oneModel(model, {
    vendor: { surfaces: ['chat'] },
    secrets: [new Secret('house')],
    fetch: vendorOf(world, process),
  })
  let gateway: Gateway | undefined
  void gatewayOf(process, { offering, rail, takes }).then((opened) => {
    gateway = opened
  })
  let serial = 0

  const ask = async (request: Request): Promise<Reply | undefined> => {
    if (gateway === undefined) return undefined
    const { order, stream, maxTokens, bearer, payment } = request
    const trace = newTrace(`x-${process.instance}-${serial++}`, process.clock.monotonicMs())
    const body = {
      model: model.id,
      max_tokens: maxTokens,
      stream,
      messages: [{ role: 'user', content: JSON.stringify(order) }],
    }
    try {
      const answer = await runCall(
        gateway,
        {
          endpoint: 'chat',
          authorization: bearer ? `Bearer ${BEARER}` : null,
          maxCostUsd: undefined,
          subWallet: undefined,
          paymentProtocol: 'x402',
          payment: {
            origin: () => 'nobody',
            url: 'http://turnpike.invalid/v1/chat/completions',
            v1: payment?.version === 1 ? payment.header : undefined,
            v2: payment?.version === 2 ? payment.header : undefined,
            mpp: payment?.version === 'mpp' ? payment.header : undefined,
            headers: new Headers(),
            remade: true,
          },
          idempotencyKey: request.idempotencyKey,
          readBody: () => Promise.resolve(encoder.encode(JSON.stringify(body))),
          decode: decodeChatCall,
          signal: new AbortController().signal,
        },
        trace,
      )
      let text = ''
      if (answer.body instanceof Uint8Array) text = new TextDecoder().decode(answer.body)
      else for await (const piece of answer.body) text += new TextDecoder().decode(piece)
      const cost = stream ? COST_COMMENT.exec(text)?.[1] : answer.headers['x-cost-usd']
      return {
        status: answer.status,
        code: answer.status === 200 ? 'ok' : (trace.ended ?? ''),
        callId: trace.callId,
        complete: answer.status === 200 && (stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}')),
        cost: cost === undefined ? undefined : nanoFromDecimal(cost),
        headers: { ...answer.headers, ...trace.headers },
      }
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) {
        // A fault of the ledger's network is a 500 or 503 to the caller; a bug would be one too.
        return {
          status: 500,
          code: String(thrown),
          callId: '',
          complete: false,
          cost: undefined,
          headers: {},
        }
      }
      return {
        status: 400,
        code: thrown.code,
        callId: trace.callId,
        complete: false,
        cost: undefined,
        headers: trace.headers,
      }
    }
  }

  return {
    ask,
    claim: async (paymentId, wallet) => {
      const x402 = gateway?.payments.x402
      const id = x402?.paymentOfClaim(x402.claimFor(paymentId))
      return id === undefined ? undefined : x402?.payChange(id, wallet)
    },
  }
}

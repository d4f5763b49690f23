/** A whole server without a port: the HTTP function over a real store and book, with a scripted vendor behind it. */
import { createBook } from '../../src/book/book.ts'
import { createJournal } from '../../src/book/journal.ts'
import { openJournalFolder } from '../../src/book/journal-folder.ts'
import { isObject, type JsonObject, parseJson } from '../../src/core/json-body.ts'
import { silentLog } from '../../src/core/log.ts'
import type { Model } from '../../src/core/model.ts'
import type { Nano } from '../../src/core/money.ts'
import { Secret } from '../../src/core/secret.ts'
import { systemClock } from '../../src/core/time.ts'
import { createGateway, type Gateway, type GatewayOptions } from '../../src/gateway/gateway.ts'
import { openReceiptKeys } from '../../src/gateway/receipt-keys.ts'
import { createApp } from '../../src/http/app.ts'
import { openStripe } from '../../src/payment/stripe.ts'
import type { StripeSettings } from '../../src/payment/stripe-parts.ts'
import type { X402Options } from '../../src/payment/x402/offer.ts'
import { openX402, type X402 } from '../../src/payment/x402.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import type { NewKey } from '../../src/store/tenancy-port.ts'
import type { Limits } from '../../src/tenancy/key.ts'
import type { VendorFetch, VendorSetup } from '../../src/vendors/setup.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'

export const USD = 1_000_000_000n

/** 1 USD per million input tokens, 10 per million output tokens: 1 000 and 10 000 nano-USD a token. */
const rates = { input: 1_000_000, cache_read: 100_000, output: 10_000_000 }

export const testModel = (name: string, change: Partial<Model> = {}): Model => ({
  id: `mock/${name}`,
  vendor: 'mock',
  upstreamName: name,
  kind: 'chat',
  price: { rates, tiers: [], version: 'test-1' },
  contextTokens: 100_000,
  maxOutputTokens: 8_192,
  capabilities: ['streaming', 'function_calling'],
  imageTokensMax: 1_000,
  ...change,
})

export const mockVendor: Vendor = {
  id: 'mock',
  name: 'Mock',
  keyVariable: 'MOCK_API_KEY',
  baseUrl: 'http://mock.invalid/v1',
  surfaces: ['chat', 'embeddings'],
  outputBound: 'max_tokens',
  takesStreamOptions: true,
  cancel: 'stop',
}

export type Asked = {
  readonly url: string
  readonly headers: Headers
  readonly body: JsonObject
  readonly text: string
  readonly signal: AbortSignal | undefined
}
type Script = (asked: Asked) => Response | Promise<Response>

export type TestServer = {
  readonly gateway: Gateway
  readonly store: Store
  readonly wallet: string
  readonly fetch: (request: Request) => Promise<Response>
  /** The same, from somewhere. */
  readonly fetchFrom: (peer: string | undefined, request: Request) => Promise<Response>
  /** What the vendor was asked, in order. */
  readonly asked: Asked[]
  answerWith(script: Script): void
  newKey(limits?: Limits, more?: Partial<NewKey>): Promise<{ id: string; token: string }>
  post(path: string, body: unknown, headers?: Record<string, string>, token?: string): Promise<Response>
  get(path: string, token?: string): Promise<Response>
  /** Any method, with a JSON body if there is one; an empty token sends no credential. */
  send(method: string, path: string, body?: unknown, token?: string): Promise<Response>
  readonly hash: (text: string | Uint8Array) => string
  balance(): Promise<Nano>
  readonly x402: X402 | undefined
  /** Calls whose money is held. */
  openCalls(): number
  /** Takes no more calls, gives back what is leased, and tells what is held then. */
  heldAfterAll(): Promise<Nano | undefined>
  stop(): Promise<void>
}

type Setup = {
  readonly url?: string
  readonly fund?: Nano
  readonly models?: readonly Model[]
  readonly vendor?: Partial<Vendor>
  readonly options?: Partial<GatewayOptions>
  readonly secrets?: readonly string[]
  readonly failover?: Readonly<Record<string, readonly string[]>>
  readonly stripe?: StripeSettings
  /** Replaces the database's clock. */
  readonly now?: () => number
  readonly receipts?: 'header' | 'on-demand' | 'off'
  readonly x402?: X402Options
  /** Vendors beside the scripted one. */
  readonly more?: readonly VendorSetup[]
  /** Folder of a journal, for a database that can be lost. */
  readonly journal?: string
}

let serial = 0

export const startTestServer = async (setup: Setup = {}): Promise<TestServer> => {
  const store = await openStore({
    url: setup.url ?? 'sqlite::memory:',
    ...(setup.now === undefined ? {} : { now: setup.now }),
  })
  const wallet = `wal_test_${++serial}`
  await store.createWallet({ id: wallet, orgId: 'org_test', name: 'test' })
  await store.post({
    kind: 'topup',
    ref: `${wallet}:first`,
    debit: 'cash',
    credit: wallet,
    amount: setup.fund ?? 100n * USD,
  })
  const asked: Asked[] = []
  let script: Script = () => completion('hello')
  const vendorFetch: VendorFetch = async (url, init) => {
    const text = await new Response(init.body as never).text()
    const body = parseJson(text)
    const one = {
      url,
      headers: new Headers(init.headers),
      body: isObject(body) ? body : {},
      text,
      signal: init.signal ?? undefined,
    }
    asked.push(one)
    return script(one)
  }
  const vendorSetup: VendorSetup = {
    vendor: { ...mockVendor, ...setup.vendor },
    baseUrl: mockVendor.baseUrl,
    secrets: (setup.secrets ?? ['house-key']).map((secret) => new Secret(secret)),
    fetch: vendorFetch,
  }
  const models = setup.models ?? [
    testModel('small'),
    testModel('embed', { kind: 'embeddings', maxOutputTokens: 0 }),
  ]
  const instance = `test-${process.pid}-${serial}`
  const journal =
    setup.journal === undefined
      ? {}
      : {
          journal: createJournal({
            folder: await openJournalFolder(setup.journal),
            ledger: 'test',
            instance,
            log: silentLog,
          }),
        }
  const book = createBook({
    store,
    clock: systemClock,
    instance,
    random: Math.random,
    log: silentLog,
    ...journal,
  })
  await book.start()
  const hash = (text: string | Uint8Array) =>
    new Bun.CryptoHasher('sha256', 'test-secret').update(text).digest('hex')
  const x402 =
    setup.x402 === undefined
      ? undefined
      : await openX402({ store, clock: systemClock, log: silentLog, hash, options: setup.x402 })
  const gateway = createGateway({
    stripe:
      setup.stripe === undefined
        ? undefined
        : await openStripe({
            settings: setup.stripe,
            store,
            log: silentLog,
            newId: () => Bun.randomUUIDv7(),
          }),
    store,
    book,
    catalogue: {
      find: (name) => models.find((model) => model.id === name),
      list: () => models,
      ended: () => undefined,
    },
    vendors: new Map([
      ['mock', vendorSetup],
      ...(setup.more ?? []).map((one) => [one.vendor.id, one] as const),
    ]),
    failover: new Map(Object.entries(setup.failover ?? {})),
    options: {
      creditNano: 10_000_000n,
      planRpm: 100_000,
      guestRpm: 100_000,
      bodyBytesMax: 1_000_000,
      timeouts: { firstByteMs: 2_000, idleMs: 2_000, totalMs: 10_000 },
      reportRpm: 1_000,
      overloadMs: 250,
      keptBytesMax: 1_000_000_000,
      bufferBytesMax: 100_000_000,
      keySharePercent: 100,
      bodyMs: 10_000,
      readerMs: 10_000,
      connectionSeconds: 30,
      openCallsMax: 2_000,
      trustedProxies: [],
      trial: { amount: USD / 10n, dailyAmount: USD, lifeMs: 7 * 86_400_000, againMs: 30 * 86_400_000 },
      referral: { referrerAmount: 2n * USD, claimantAmount: USD },
      discountOpenMax: 64,
      ...setup.options,
    },
    clock: systemClock,
    log: silentLog,
    instance,
    hash,
    ...(setup.receipts === 'off'
      ? {}
      : {
          receipts: {
            keys: await openReceiptKeys({ store, hash, clock: systemClock, log: silentLog }),
            issuers: ['https://turnpike.test', 'https://before.test'],
            inAnswers: setup.receipts !== 'on-demand',
          },
        }),
    newCallId: () => Bun.randomUUIDv7(),
    random: () => 0,
    ...(x402 === undefined ? {} : { x402 }),
  })
  const app = createApp(gateway)
  let token0 = ''
  const newKey: TestServer['newKey'] = async (limits = {}, more = {}) => {
    const token = `sk-test${crypto.randomUUID().replaceAll('-', '')}`
    const id = `key_${crypto.randomUUID()}`
    await store.createKey({
      id,
      hash: hash(token),
      orgId: 'org_test',
      walletId: wallet,
      label: 'test',
      prefix: token.slice(0, 10),
      limits,
      ...more,
    })
    return { id, token }
  }
  token0 = (await newKey()).token
  const bearer = (token: string | undefined) =>
    token === '' ? {} : { authorization: `Bearer ${token ?? token0}` }
  return {
    gateway,
    store,
    wallet,
    fetch: (request) => app.fetch(request),
    fetchFrom: (peer, request) => app.fetch(request, () => peer),
    asked,
    newKey,
    answerWith: (next) => {
      script = next
    },
    post: (path, body, headers = {}, token = undefined) =>
      app.fetch(
        new Request(`http://turnpike.test${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...bearer(token), ...headers },
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
      ),
    get: (path, token) => app.fetch(new Request(`http://turnpike.test${path}`, { headers: bearer(token) })),
    send: (method, path, body, token) =>
      app.fetch(
        new Request(`http://turnpike.test${path}`, {
          method,
          headers: { 'content-type': 'application/json', ...bearer(token) },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      ),
    hash,
    balance: () => store.balance(wallet),
    x402,
    openCalls: () => book.health().openCalls,
    heldAfterAll: async () => {
      await book.drain(1_000)
      return (await store.wallet(wallet))?.held
    },
    stop: async () => {
      x402?.stop()
      await book.drain(1_000)
      await store.close()
    },
  }
}

type Usage = Record<string, unknown>
const usage10and5 = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/** A vendor's whole answer. */
export const completion = (content: string, usage: Usage | null = usage10and5): Response =>
  Response.json({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_795_000_000,
    model: 'small-2026-01-01',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    ...(usage === null ? {} : { usage }),
  })

const chunk = (choices: unknown[], more: object = {}) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'small-2026-01-01', choices, ...more })}\n\n`

/** The events of a vendor's stream: a role, the words, a stop, the usage, `[DONE]`. */
export const streamEvents = (words: readonly string[], usage: Usage | null = usage10and5): string[] => [
  chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]),
  ...words.map((word) => chunk([{ index: 0, delta: { content: word }, finish_reason: null }])),
  chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
  ...(usage === null ? [] : [chunk([], { usage })]),
  'data: [DONE]\n\n',
]

/** A stream that sends these pieces, each when the one before was read; `then` runs after the last. */
export const streaming = (
  pieces: readonly string[],
  then: 'close' | 'hang' | 'break' = 'close',
): Response => {
  let next = 0
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const piece = pieces[next++]
      if (piece !== undefined) controller.enqueue(encoder.encode(piece))
      else if (then === 'close') controller.close()
      else if (then === 'break') controller.error(new Error('connection reset'))
      else return new Promise(() => undefined)
      return undefined
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** A stream that stops after `before` pieces until `change` is done, and then goes on. */
export const pausedStream = (
  pieces: readonly string[],
  before: number,
  change: () => Promise<unknown>,
): Response => {
  let next = 0
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      if (next === before) await change()
      const piece = pieces[next++]
      if (piece === undefined) controller.close()
      else controller.enqueue(encoder.encode(piece))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

export const chat = (more: object = {}) => ({
  model: 'mock/small',
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
})

/** The data of a stream's events. */
export const eventsOf = (text: string): string[] =>
  text
    .split('\n\n')
    .filter((block) => block.startsWith('data: '))
    .map((block) => block.slice(6))

/** An answer's JSON, read loosely: tests look into answers of every shape. */
export const jsonOf = (response: Response): Promise<any> => response.json() as Promise<any>

/** A whole server without a port: the HTTP function over a real store and book, with a scripted vendor behind it. */

import type { Assets } from '../../src/assets/assets.ts'
import { createOutbox } from '../../src/book/outbox.ts'
import { openOutboxFolder } from '../../src/book/outbox-folder.ts'
import { isObject, type JsonObject, parseJson } from '../../src/core/json-body.ts'
import type { KeyedHash } from '../../src/core/keyed-hash.ts'
import { type Log, silentLog } from '../../src/core/log.ts'
import type { Model } from '../../src/core/model.ts'
import type { Nano } from '../../src/core/money.ts'
import { Secret } from '../../src/core/secret.ts'
import type { Clock } from '../../src/core/time.ts'
import { openGateway } from '../../src/gateway/open-gateway.ts'
import type {
  ConfigControl,
  ConsoleSettings,
  Gateway,
  GatewayOptions,
  Offering,
} from '../../src/gateway/parts/gateway.ts'
import type { Traces } from '../../src/gateway/parts/spans.ts'
import { createApp } from '../../src/http/app.ts'
import { type Meters, newMeters } from '../../src/metrics/meters.ts'
import type { StripeSettings } from '../../src/payment/stripe-parts.ts'
import type { X402Options } from '../../src/payment/x402/offer.ts'
import type { X402 } from '../../src/payment/x402.ts'
import { callSettings } from '../../src/settings/calls.ts'
import { readSettings } from '../../src/settings/setting.ts'
import type { NewKey } from '../../src/store/accounts/tenancy-port.ts'
import type { AssetStore } from '../../src/store/calls/asset-port.ts'
import type { Store } from '../../src/store/port.ts'
import type { Limits } from '../../src/tenancy/limits.ts'
import type { PublicParts } from '../../src/transport/public-address.ts'
import type { VendorFetch, VendorSetup } from '../../src/vendors/setup.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'
import { byTest } from '../by-test.ts'
import { comingBack } from '../late-ledger.ts'
import { openTestStore } from '../memory-ledger.ts'
import { fitting } from './answers.ts'

export const USD = 1_000_000_000n
export const METRICS_TOKEN = 'metrics-token-of-tests'

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

/** A vendor beside the scripted one. */
export const mockSetup = (change: Partial<Vendor>, fetch: VendorFetch): VendorSetup => ({
  vendor: { ...mockVendor, ...change },
  baseUrl: mockVendor.baseUrl,
  secrets: [new Secret('house-key')],
  fetch,
})

export type VendorRequest = {
  readonly method?: string
  readonly url: string
  readonly headers: Headers
  readonly body: JsonObject
  readonly text: string
  readonly signal: AbortSignal | undefined
}
type Script = (request: VendorRequest) => Response | Promise<Response>

export type TestServer = {
  /** The gateway as it was opened. */
  readonly gateway: Gateway
  /** Sells this to calls that begin from now on. */
  readonly sell: (offering: Offering) => void
  readonly store: Store
  readonly wallet: string
  readonly fetch: (request: Request) => Promise<Response>
  /** The same, from a given address. */
  readonly fetchFrom: (peer: string | undefined, request: Request) => Promise<Response>
  /** The requests that the vendor got, in order. */
  readonly asked: VendorRequest[]
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
  /** Takes no more calls, gives back what is leased, and returns what is held then. */
  heldAfterAll(): Promise<Nano | undefined>
  stop(): Promise<void>
}

/** The hash under a secret, while another one is still accepted. */
export const hashOf = (secret: string, before?: KeyedHash): KeyedHash =>
  Object.assign(
    (text: string | Uint8Array) => new Bun.CryptoHasher('sha256', secret).update(text).digest('hex'),
    { id: secret, ...(before === undefined ? {} : { before }) },
  )

type Setup = {
  /** Does not check answers against the API reference, which costs more than many of them: for a bench. */
  readonly unchecked?: true
  readonly hash?: KeyedHash
  readonly url?: string
  readonly fund?: Nano
  readonly log?: Log
  readonly models?: readonly Model[]
  readonly vendor?: Partial<Vendor>
  readonly options?: Partial<GatewayOptions>
  readonly secrets?: readonly string[]
  readonly failover?: Readonly<Record<string, readonly string[]>>
  /** What the console shows of the configuration. */
  readonly shown?: Offering['setup']
  /** Stored results, on the server's own store and hash. */
  readonly assets?: (own: { readonly store: AssetStore; readonly hash: (text: string) => string }) => Assets
  readonly stripe?: StripeSettings
  /** Replaces the database's clock. */
  readonly now?: () => number
  /** Replaces that of the process. */
  readonly clock?: Clock
  readonly receipts?: 'header' | 'on-demand' | 'off'
  readonly x402?: X402Options
  /** Sends the webhooks of callers. */
  readonly webhooks?: PublicParts
  /** Vendors beside the scripted one. */
  readonly more?: readonly VendorSetup[]
  /** How the configuration is read again. */
  readonly config?: ConfigControl
  /** A console; without it there is none. */
  readonly console?: ConsoleSettings
  /** Where the other cells are. */
  readonly cells?: Gateway['cells']
  /** The test takes the ledger away: refused calls are not sent again, as they are in other tests. */
  readonly ledgerFails?: boolean
  /** Where its traces go. */
  readonly traces?: Traces
  readonly meters?: Meters
  /** Folder of a journal, for a database that can be lost. */
  readonly journal?: string
}

let serial = 0

const outboxIn =
  (path: string) => async (who: Pick<Parameters<typeof createOutbox>[0], 'instance' | 'log'>) =>
    createOutbox({ folder: await openOutboxFolder(path), ledger: 'test', ...who })

/** Rejects when the request is aborted, as every real fetch does, even where the script never answers. */
const broughtDown = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => {
    if (signal?.aborted === true) reject(signal.reason)
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

export const startTestServer = async (setup: Setup = {}): Promise<TestServer> => {
  const store = await openTestStore({
    url: setup.url ?? 'sqlite::memory:',
    ...(setup.now === undefined ? {} : { now: setup.now }),
  })
  const wallet = `wal_test_${++serial}`
  await store.wallets.createWallet({ id: wallet, orgId: 'org_test', name: 'test' }, byTest)
  await store.ledger.post({
    kind: 'topup',
    ref: `${wallet}:first`,
    debit: 'cash',
    credit: wallet,
    amount: setup.fund ?? 100n * USD,
  })
  const asked: VendorRequest[] = []
  let script: Script = () => completion('hello')
  const vendorFetch: VendorFetch = async (url, init) => {
    const text = await new Response(init.body as never).text()
    const body = parseJson(text)
    const one = {
      method: init.method ?? 'POST',
      url,
      headers: new Headers(init.headers),
      body: isObject(body) ? body : {},
      text,
      signal: init.signal ?? undefined,
    }
    asked.push(one)
    return Promise.race([script(one), broughtDown(one.signal)])
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
  const hash = setup.hash ?? hashOf('test-secret')
  const { assets } = setup
  const { gateway, present, changeOffering, stopChores } = await openGateway({
    store,
    watch: {
      meters: setup.meters ?? newMeters(),
      metrics: { tokenHash: hash(METRICS_TOKEN), ofProcess: () => [] },
      traces: setup.traces,
    },
    hash,
    log: setup.log ?? silentLog,
    ...(setup.clock === undefined ? {} : { clock: setup.clock }),
    // Of a pause or a choice among equals, tests want the first.
    random: () => 0,
    instance: `test-${process.pid}-${serial}`,
    stripe: setup.stripe,
    ...(assets === undefined ? {} : { assets: (own) => assets({ ...own, hash }) }),
    x402: setup.x402,
    console: setup.console,
    cells: setup.cells,
    config: setup.config,
    ...(setup.webhooks === undefined ? {} : { webhooks: setup.webhooks }),
    receipts:
      setup.receipts === 'off'
        ? undefined
        : {
            issuers: ['https://turnpike.test', 'https://before.test'],
            inAnswers: setup.receipts !== 'on-demand',
          },
    ...(setup.journal === undefined ? {} : { outbox: outboxIn(setup.journal) }),
    offering: {
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
      ...(setup.shown === undefined ? {} : { setup: setup.shown }),
    },
    options: {
      ...readSettings(callSettings, {}),
      // Only what a test sets binds its calls.
      planRpm: 100_000,
      guestRpm: 100_000,
      reportRpm: 1_000,
      keySharePercent: 100,
      overloadMs: 0,
      bodyBytesMax: 1_000_000,
      bufferBytesMax: 100_000_000,
      timeouts: { firstByteMs: 60_000, idleMs: 60_000, totalMs: 120_000 },
      bodyMs: 60_000,
      readerMs: 60_000,
      trial: { amount: USD / 10n, dailyAmount: USD, lifeMs: 7 * 86_400_000, againMs: 30 * 86_400_000 },
      referral: { referrerAmount: 2n * USD, claimantAmount: USD },
      ...setup.options,
    },
  })
  const { book } = gateway
  const { x402 } = gateway.payments
  const app = createApp(present)
  const once: typeof app.fetch = async (request, ...more) => {
    const response = await app.fetch(request, ...more)
    return setup.unchecked === true ? response : fitting(request, response)
  }
  const answered: typeof app.fetch = (request, ...more) =>
    setup.ledgerFails === true
      ? once(request, ...more)
      : comingBack(() => once(request.clone() as Request, ...more))
  let token0 = ''
  const newKey: TestServer['newKey'] = async (limits = {}, more = {}) => {
    const token = `sk-test${crypto.randomUUID().replaceAll('-', '')}`
    const id = `key_${crypto.randomUUID()}`
    await store.keys.createKey(
      {
        id,
        hash: hash(token),
        orgId: 'org_test',
        walletId: wallet,
        label: 'test',
        prefix: token.slice(0, 10),
        limits,
        ...more,
      },
      byTest,
    )
    return { id, token }
  }
  token0 = (await newKey()).token
  const bearer = (token: string | undefined) =>
    token === '' ? {} : { authorization: `Bearer ${token ?? token0}` }
  return {
    gateway,
    sell: changeOffering,
    store,
    wallet,
    fetch: (request) => answered(request),
    fetchFrom: (peer, request) => answered(request, { peer: () => peer, ended: () => undefined }),
    asked,
    newKey,
    answerWith: (next) => {
      script = next
    },
    post: (path, body, headers = {}, token = undefined) =>
      answered(
        new Request(`http://turnpike.test${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...bearer(token), ...headers },
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
      ),
    get: (path, token) => answered(new Request(`http://turnpike.test${path}`, { headers: bearer(token) })),
    send: (method, path, body, token) =>
      answered(
        new Request(`http://turnpike.test${path}`, {
          method,
          headers: { 'content-type': 'application/json', ...bearer(token) },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      ),
    hash,
    balance: () => store.ledger.balance(wallet),
    x402,
    openCalls: () => book.health().openCalls,
    heldAfterAll: async () => {
      await book.drain(1_000)
      return (await store.wallets.wallet(wallet))?.held
    },
    stop: async () => {
      await stopChores(0)
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

export const chunk = (choices: unknown[], more: object = {}) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'small-2026-01-01', choices, ...more })}\n\n`

/** The events of a vendor's stream: a role, the words, a stop, the usage, `[DONE]`. */
export const streamEvents = (words: readonly string[], usage: Usage | null = usage10and5): string[] => [
  chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]),
  ...words.map((word) => chunk([{ index: 0, delta: { content: word }, finish_reason: null }])),
  chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
  ...(usage === null ? [] : [chunk([], { usage })]),
  'data: [DONE]\n\n',
]

/** A stream of these pieces; each is sent when the one before was read. `then` runs after the last. */
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

/** The matrix of payers and what they pay for: every cell is a test on both engines, and docs/payments.md has their results. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { z } from 'zod'
import type { MediaModel } from '../../src/media/product.ts'
import {
  chat,
  completion,
  streamEvents,
  streaming,
  testModel,
  USD,
  type VendorRequest,
} from '../server/harness.ts'
import { CENT, type JobServer, jobRecord, newVendor, PICTURE, startJobServer } from '../server/job-rig.ts'
import { brokenLaws, serverEngines } from '../store/engines.ts'
import { until } from '../until.ts'
import { checkCash, startCards } from './card-rig.ts'
import { hasChain } from './chain.ts'
import { installChannels, WITHDRAW_SECONDS } from './channels.ts'
import { type Cell, cells, type Opened, type Payer, payers } from './matrix-payers.ts'
import { onChain } from './on-chain.ts'
import { installPermit2, newUptoPayer } from './permit2.ts'
import { optionsFor } from './rig.ts'

const page = `${import.meta.dir}/../../docs/payments.md`
/** What each payer has, in units: enough for any call, a deposit of several, and no more. */
const MONEY = 1_000_000n
/** 10 tokens in at 1 000 nano-USD and 5 out at 10 000. */
const CHAT = 60_000n
const messages = [{ role: 'user', content: 'hi' }]

/** A picture that is there at once. */
const single: MediaModel = {
  ...jobRecord({}, 'single'),
  inputs: z.strictObject({ prompt: z.string() }),
  shape: {
    flow: 'once',
    ask: (inputs, model) => ({ method: 'POST', path: '/paint', body: { json: { ...inputs, model } } }),
    read: ({ status }) =>
      status === 200
        ? { verdict: 'done', outputs: [{ type: 'image', from: { base64: PICTURE } }], body: {} }
        : undefined,
  },
  card: { ...jobRecord().card, most: { image: () => 1 } },
}

/** A vendor of all that is paid for here. */
const vendorOfAll = () => {
  const jobs = newVendor()
  jobs.says(1)
  const answer = (request: VendorRequest): Response => {
    if (request.url.endsWith('/paint')) return Response.json({})
    if (!request.url.endsWith('/chat/completions')) return jobs.answer(request)
    return request.body.stream === true ? streaming(streamEvents(['hel', 'lo'])) : completion('hello')
  }
  return { ...jobs, answer }
}

const prompt = 'a fox'
const bodies = {
  chat: ['/v1/chat/completions', chat({ max_tokens: 50 })],
  stream: [
    '/v1/chat/completions',
    chat({ max_tokens: 50, stream: true, stream_options: { include_usage: true } }),
  ],
  media: ['/v1/run', { model: 'mock/single', inputs: { prompt } }],
  job: ['/v1/run', { model: 'mock/film', inputs: { prompt } }],
} as const
const tools = {
  'MCP chat': { product: 'mock/small', inputs: { messages, max_tokens: 50 } },
  'MCP media': { product: 'mock/single', inputs: { prompt } },
  'MCP job': { product: 'mock/film', inputs: { prompt } },
} as const

const isChat = (cell: Cell): boolean => /chat|stream/.test(cell)
const priceOf = (cell: Cell): bigint => (isChat(cell) ? CHAT : CENT)
/** Units for one quote of this, and not for two. */
const budgetOf = (cell: Cell): bigint => (isChat(cell) ? 1_000n : 15_000n)

/** Pays for one thing and reads what it got. */
const buy = async ({ pay, call }: Opened, cell: Cell, address: string): Promise<void> => {
  if (cell in tools) {
    const paid = await call?.('run_product', tools[cell as keyof typeof tools])
    expect([paid?.isError ?? false, JSON.stringify(paid)]).toEqual([
      false,
      expect.stringContaining(cell === 'MCP chat' ? 'hello' : '"outputs":[{'),
    ])
    return
  }
  const [path, body] = bodies[cell as keyof typeof bodies]
  const headers = { 'content-type': 'application/json' }
  const answer = await pay(address + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  const told = { chat: 'hello', stream: '[DONE]', media: '"outputs":[{', job: '"outputs":[{' }
  expect([answer.status, text]).toEqual([200, expect.stringContaining(told[cell as keyof typeof told])])
}

const passed = new Map<string, number>()
const leftOut = new Set<Payer>()

describe.skipIf(!hasChain)('payers', () => {
  const on = onChain(async (chain) => {
    await installChannels(chain)
    await installPermit2(chain)
  })

  for (const engine of serverEngines)
    describe(`on ${engine.name}`, () => {
      let database: Awaited<ReturnType<typeof engine.fresh>>
      let server: JobServer
      let listening: ReturnType<typeof Bun.serve>
      let address: string
      const rule = { withdrawSeconds: WITHDRAW_SECONDS, claimSum: 1_000_000n * USD, claimSeconds: 900 }
      const more = { upto: { most: USD }, channels: rule }
      let x402: ReturnType<typeof optionsFor>
      const stripe = startCards()
      beforeAll(async () => {
        database = await engine.fresh()
        x402 = optionsFor(on.facilitator, on.chain, more)
        const models = [testModel('small')]
        server = await startJobServer({
          url: database.url,
          vendor: vendorOfAll(),
          sells: [jobRecord(), single],
          server: { x402, stripe: stripe.settings, fund: 0n, models },
        })
        await server.x402?.round()
        listening = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
        address = `http://127.0.0.1:${listening.port}`
      })
      afterAll(async () => {
        await listening.stop(true)
        await server.stop()
        await database.stop()
        await stripe.stop()
      })

      const revenue = () => server.store.ledger.balance('revenue')

      for (const payer of payers)
        describe(payer.name, () => {
          for (const cell of cells) {
            if (payer.cannot[cell] !== undefined) continue
            test(cell, async () => {
              const installed = await payer.installed?.()
              if (payer.installed !== undefined && installed === undefined) {
                leftOut.add(payer)
                return
              }
              const account = await newUptoPayer(on.chain, MONEY)
              const budget = budgetOf(cell)
              const opened = await payer.open({ chain: on.chain, account, address, installed, budget })
              const before = await revenue()
              await buy(opened, cell, address)
              await until(async () => (await revenue()) - before === priceOf(cell))
              if (payer.once) {
                const units = await on.chain.unitsOf(account.address)
                expect(await buy(opened, cell, address).catch((error: Error) => error)).toBeInstanceOf(Error)
                expect(await on.chain.unitsOf(account.address)).toBe(units)
                expect((await revenue()) - before).toBe(priceOf(cell))
              }
              const name = `${payer.name}: ${cell}`
              passed.set(name, (passed.get(name) ?? 0) + 1)
            })
          }
        })

      test('in the end chain and Stripe are the ledger, to the last unit', async () => {
        rule.claimSum = 1n
        await server.x402?.round()
        const received = await on.chain.unitsOf(x402.offers[0]?.payTo as `0x${string}`)
        expect(received).toBeGreaterThan(0n)
        expect(await server.store.ledger.balance('x402')).toBe(-received * 1_000n)
        expect(await checkCash(server, stripe)).toBeGreaterThan(0n)
        expect(await brokenLaws(server.store)).toEqual([])
      })
    })

  test('docs/payments.md has what this run found: run npm run compatibility', async () => {
    // A machine that cannot install a client cannot say what it does.
    if (leftOut.size > 0) return
    const told = await Bun.file(page).text()
    const [before, , after] = told.split(/(?<=<!-- payers -->\n)|(?=<!-- end of payers -->)/)
    const found = `${before}${await table()}${after}`
    if (process.env.WRITE_COMPATIBILITY === 'yes') await Bun.write(page, found)
    expect(await Bun.file(page).text()).toBe(found)
  })
})

const table = async (): Promise<string> => {
  const notes: string[] = []
  const noteOf = (reason: string): number => {
    const at = notes.indexOf(reason)
    return at < 0 ? notes.push(reason) : at + 1
  }
  const rows: (readonly string[])[] = []
  for (const payer of payers) rows.push(await rowOf(payer, noteOf))
  const line = (texts: readonly string[]): string => `| ${texts.join(' | ')} |\n`
  return [
    line(['payer', 'version', ...cells]),
    line(['payer', 'version', ...cells].map(() => '---')),
    ...rows.map(line),
    '\n',
    ...notes.map((note, at) => `${at + 1}. ${note}\n`),
  ].join('')
}

const rowOf = async (payer: Payer, noteOf: (reason: string) => number): Promise<readonly string[]> => {
  const version = (await payer.installed?.())?.versionOf(payer.package) ?? (await versionHere(payer.package))
  return [
    payer.name,
    version,
    ...cells.map((cell) => {
      const reason = payer.cannot[cell]
      if (reason !== undefined) return `– [${noteOf(reason)}]`
      return passed.get(`${payer.name}: ${cell}`) === serverEngines.length ? '✓' : '✗'
    }),
  ]
}

const versionHere = async (name: string): Promise<string> => {
  const path = `${import.meta.dir}/../../node_modules/${name}/package.json`
  return String((await Bun.file(path).json()).version)
}

/**
 * Batches that vendors run: each line is charged its usage at half price, once, whatever the vendor does with the results;
 * nothing is held at the end; lines that were not run cost nothing.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type OpenAI from 'openai'
import type { Model } from '../../src/core/model.ts'
import type { Catalogue } from '../../src/pricing/catalogue.ts'
import { bedrock } from '../../src/vendors/bedrock.ts'
import { brokenLaws, serverEngines, stopSound } from '../store/engines.ts'
import { until } from '../until.ts'
import { chatLine } from './batch-rig.ts'
import { completion, jsonOf } from './harness.ts'
import {
  isOfBatches,
  kinds,
  nameless,
  PART_LINE,
  type PartServer,
  partModels,
  startPartServer,
} from './part-rig.ts'

/** Forms whose vendors differ in all that a ledger sees of them; the others are played on one engine. */
const unlike: readonly (typeof kinds)[number][] = ['openai', 'anthropic', 'google', 'bedrock']

describe.each(serverEngines)('on $name', ({ name, fresh }) => {
  const played = name === 'PostgreSQL' ? unlike : kinds
  let database: { readonly url: string; readonly stop: () => Promise<void> }
  let server: PartServer
  let skewMs = 0

  beforeAll(async () => {
    database = await fresh()
    server = await startPartServer({ url: database.url, now: () => Date.now() + skewMs })
    server.answerWith(({ body }) => completion(`heard ${(body.messages as any)[0].content}`))
  })
  afterAll(() => stopSound(server, database))
  afterEach(async () => {
    await until(async () => (await server.store.wallets.wallet(server.wallet))?.held === 0n)
    expect(await brokenLaws(server.store)).toEqual([])
    // Nothing of a part stays in the operator's buckets.
    await until(async () => (await server.objects()).length === 0)
    for (const kind of kinds) {
      Object.assign(server.vendors[kind].how, {
        ...{ ends: true, ranBefore: 0, tells: (lines: string[]) => lines },
        ...{ taken: () => undefined, before: () => undefined },
      })
      server.vendors[kind].held.length = 0
    }
  })

  const charged = () => server.store.ledger.balance('revenue')
  const linesOn = (kind: (typeof kinds)[number], count: number) =>
    Array.from({ length: count }, (_, n) => chatLine(n, {}, partModels[kind]))
  const begin = async (
    token: string,
    all: readonly unknown[],
    more: Partial<OpenAI.BatchCreateParams> = {},
  ) => {
    const input_file_id = await server.upload(token, all)
    const asked = {
      input_file_id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      ...more,
    } as const
    return server.client(token).batches.create(asked)
  }
  const run = async (all: readonly unknown[], more?: Partial<OpenAI.BatchCreateParams>) => {
    const { token } = await server.newKey()
    const { id } = await begin(token, all, more)
    const batch = await server.ended(token, id)
    const results = await server.results(token, batch.output_file_id)
    return { token, batch, results, errors: await server.results(token, batch.error_file_id) }
  }

  test('a batch of models of all vendors and one of ours is split and joined; receipts tell the half price', async () => {
    const before = await charged()
    const all = [
      ...kinds.flatMap((kind) => linesOn(kind, 3)),
      ...Array.from({ length: 3 }, (_, n) => chatLine(n)),
    ].map((line, n) => ({ ...line, custom_id: `line-${n}` }))
    const { token, batch, results } = await run(all)
    expect(batch.request_counts).toEqual({ total: all.length, completed: all.length, failed: 0 })
    expect([...results.keys()]).toEqual(all.map(({ custom_id }) => custom_id))
    expect((await charged()) - before).toBe(BigInt(3 * kinds.length) * PART_LINE + 3n * 60_000n)
    for (const kind of kinds) {
      expect(server.vendors[kind].held.map(({ lines }) => lines.length)).toEqual([3])
      // Nothing is asked of it but batches.
      expect(server.vendors[kind].asked.filter((asked) => !isOfBatches(asked))).toEqual([])
    }
    const { response, receipt } = results.get('line-4')
    expect(response.body).toMatchObject({ object: 'chat.completion', usage: { cost: 0.0000405 } })
    const known = await jsonOf(await server.get(`/v1/receipts/${response.request_id}`, token))
    expect(known.claims).toMatchObject({
      cost: { amount: '0.0000405' },
      payment: { mode: 'wallet', batch: batch.id.slice('batch_'.length) },
    })
    expect(receipt.split('.')[1]).toBe(known.receipt.split('.')[1])
  })

  test.each(played)('%s reorders, repeats and invents results: each line is charged once', async (kind) => {
    server.vendors[kind].how.tells = (lines) => {
      const others = lines.map((line) =>
        line.replace(/("(?:custom_id|key|recordId|turnpike_line)":")[^"]+/, '$1nobody'),
      )
      return [...lines.toReversed(), 'no JSON', '[]', ...others, ...lines]
    }
    const before = await charged()
    const { batch, results } = await run(linesOn(kind, 40))
    expect(batch.request_counts).toEqual({ total: 40, completed: 40, failed: 0 })
    expect((await charged()) - before).toBe(40n * PART_LINE)
    for (const [id, { response }] of results)
      expect(response.body.choices[0].message.content).toContain(`say ${id.slice(5)} `)
  })

  test.each(played)(
    '%s refuses one line, and its answer to another cannot be read: neither is charged or sent again',
    async (kind) => {
      const before = await charged()
      const all = linesOn(kind, 5)
      const refused = chatLine(3, { messages: [{ role: 'user', content: 'FAIL 400' }] }, partModels[kind])
      server.vendors[kind].how.tells = (lines) =>
        lines.with(4, (lines[4] ?? '').replace(/"(choices|content|candidates)":/, '"none":'))
      const { batch, errors } = await run(all.with(3, refused))
      expect(batch.request_counts).toEqual({ total: 5, completed: 3, failed: 2 })
      expect(errors.get('line-3').response.status_code).toBe(400)
      expect(errors.get('line-4').response.status_code).toBe(503)
      expect((await charged()) - before).toBe(3n * PART_LINE)
      expect(server.vendors[kind].held).toHaveLength(1)
    },
  )

  test.each(played)(
    '%s loses lines and cuts one: their results are read again, then they are sent again, and charged once',
    async (kind) => {
      const { how, held, asked } = server.vendors[kind]
      let loses = true
      how.tells = (lines) => (loses ? [...lines.slice(0, 6), (lines[6] ?? '').slice(0, -9)] : lines)
      const [before, reads] = [await charged(), asked.length]
      const { token } = await server.newKey()
      const { id } = await begin(token, linesOn(kind, 10))
      const own = id.slice('batch_'.length)
      // Read three times without them, they are lost.
      await until(async () => held.length === 1 && (await server.store.batches.parts(own)).length === 0)
      loses = false
      // They wait for some minutes before they are sent again.
      skewMs += 6 * 60_000
      const batch = await server.ended(token, id)
      expect(batch.request_counts).toEqual({ total: 10, completed: 10, failed: 0 })
      expect(held.map(({ lines }) => lines.length)).toEqual([10, 4])
      expect(asked.length - reads).toBeGreaterThanOrEqual(4)
      expect((await charged()) - before).toBe(10n * PART_LINE)
    },
  )

  test.each(played)(
    '%s never ends a batch, and its caller cancels it: what ran before is charged, the rest is told as cancelled',
    async (kind) => {
      const { how, held, asked } = server.vendors[kind]
      Object.assign(how, { ends: false, ranBefore: 4 })
      const before = await charged()
      const { token } = await server.newKey()
      const { id } = await begin(token, linesOn(kind, 10))
      await until(() => held.length === 1)
      expect((await server.client(token).batches.cancel(id)).status).toBe('cancelling')
      const batch = await server.ended(token, id)
      expect(batch).toMatchObject({
        status: 'cancelled',
        request_counts: { total: 10, completed: 4, failed: 6 },
      })
      const errors = await server.results(token, batch.error_file_id)
      expect([...errors.values()].map(({ error }) => error.code)).toEqual(Array(6).fill('batch_cancelled'))
      expect((await charged()) - before).toBe(4n * PART_LINE)
      expect(asked.filter((one) => /cancel|stop$|^DELETE/.test(one))).not.toEqual([])
    },
  )

  test.each(['is cancelled', 'expires'] as const)(
    'a batch whose money ran out %s: what its vendor has is cancelled there too',
    async (how) => {
      const { held, asked } = server.vendors.openai
      Object.assign(server.vendors.openai.how, { ends: false, ranBefore: 2 })
      const [before, reads] = [await charged(), asked.length]
      const { token } = await server.newKey()
      const { id } = await begin(token, linesOn('openai', 5))
      await until(() => held.length === 1)
      await server.store.batches.stop(id.slice('batch_'.length), 'insufficient_credit')
      if (how === 'expires') skewMs += 24.1 * 3_600_000
      else expect((await server.client(token).batches.cancel(id)).status).toBe('cancelling')
      await until(() => asked.slice(reads).some((one) => one.endsWith('/cancel')))
      expect((await server.ended(token, id)).request_counts).toEqual({ total: 5, completed: 2, failed: 3 })
      expect((await charged()) - before).toBe(2n * PART_LINE)
    },
  )

  test('a vendor that never runs a line, and says so: it is sent again after pauses, four times in all', async () => {
    const { how, held } = server.vendors.openai
    how.tells = (lines) =>
      lines.map((line) => {
        const { custom_id } = JSON.parse(line)
        return JSON.stringify({
          custom_id,
          response: null,
          error: { code: 'batch_expired', message: 'late' },
        })
      })
    const before = await charged()
    const { token } = await server.newKey()
    const { id } = await begin(token, linesOn('openai', 2))
    const own = id.slice('batch_'.length)
    for (const tries of [1, 2, 3]) {
      // Asked for last: its part is there as long as its vendor has not told all.
      await until(async () => held.length >= tries && (await server.store.batches.parts(own)).length === 0)
      expect(held).toHaveLength(tries)
      skewMs += 5 * 2 ** (tries - 1) * 61_000
    }
    const batch = await server.ended(token, id)
    expect(batch).toMatchObject({
      status: 'completed',
      request_counts: { total: 2, completed: 0, failed: 2 },
    })
    expect(held).toHaveLength(4)
    expect((await charged()) - before).toBe(0n)
  })

  test('a vendor that does not even cancel: lines expire, and nothing is held or charged', async () => {
    const { how, held } = server.vendors.openai
    how.ends = false
    how.before = (asked) =>
      asked.endsWith('/cancel') ? Response.json({ error: { message: 'no' } }, { status: 400 }) : undefined
    const before = await charged()
    const { token } = await server.newKey()
    const { id } = await begin(token, linesOn('openai', 5))
    await until(() => held.length === 1)
    skewMs += 24.7 * 3_600_000
    const batch = await server.ended(token, id)
    expect(batch).toMatchObject({ status: 'expired', request_counts: { total: 5, completed: 0, failed: 5 } })
    expect((await server.results(token, batch.error_file_id)).get('line-0').error.code).toBe('batch_expired')
    expect((await charged()) - before).toBe(0n)
  })

  test.each(played)(
    '%s takes a batch, and its answer is lost: it is found by its name, or sent again',
    async (kind) => {
      const { how, held } = server.vendors[kind]
      let lost = false
      how.taken = () => {
        if (lost) return undefined
        lost = true
        return Response.json({ error: { message: 'gone' } }, { status: 502 })
      }
      const before = await charged()
      const { token } = await server.newKey()
      const { id } = await begin(token, linesOn(kind, 3))
      const own = id.slice('batch_'.length)
      if (nameless.includes(kind)) {
        await until(async () => held.length === 1 && (await server.store.batches.parts(own)).length === 0)
        skewMs += 6 * 60_000
      }
      expect((await server.ended(token, id)).request_counts).toEqual({ total: 3, completed: 3, failed: 0 })
      expect(held).toHaveLength(nameless.includes(kind) ? 2 : 1)
      expect((await charged()) - before).toBe(3n * PART_LINE)
    },
  )

  test('no more is handed on: what vendors have is fetched at half price, what waits is run here', async () => {
    const { how, held, asked } = server.vendors.openai
    how.ends = false
    how.tells = (lines) => lines.slice(0, 4)
    how.before = (path) => (path.endsWith('/chat/completions') ? completion('run here') : undefined)
    const before = await charged()
    const { token } = await server.newKey()
    const { id } = await begin(token, linesOn('openai', 6))
    const own = id.slice('batch_'.length)
    await until(() => held.length === 1)
    const { options } = server.gateway
    Object.assign(options, { batchAtVendors: false })
    try {
      how.ends = true
      // The two lines that their vendor lost wait for some minutes.
      await until(async () => (await server.store.batches.parts(own)).length === 0)
      skewMs += 6 * 60_000
      expect((await server.ended(token, id)).request_counts).toEqual({ total: 6, completed: 6, failed: 0 })
      expect(held).toHaveLength(1)
      expect(asked.filter((one) => !/batch|\/files/i.test(one))).toHaveLength(2)
      expect((await charged()) - before).toBe(4n * PART_LINE + 2n * 60_000n)
    } finally {
      Object.assign(options, { batchAtVendors: true })
      asked.length = 0
    }
  })

  /** Runs lines of OpenAI's that are sent, and then sold as `find` says until they have ended; returns what they were charged. */
  const soldMeanwhile = async (
    find: (known: Catalogue['find']) => Catalogue['find'],
    model: string,
    meanwhile: (token: string) => Promise<unknown>,
  ) => {
    const { how, held } = server.vendors.openai
    const { offering } = server.gateway
    const { catalogue } = offering
    how.ends = false
    const before = await charged()
    const { token } = await server.newKey({}, { aliases: { mine: partModels.openai } })
    const { id } = await begin(
      token,
      Array.from({ length: 3 }, (_, n) => chatLine(n, {}, model)),
    )
    await until(() => held.length === 1)
    Object.assign(offering, { catalogue: { ...catalogue, find: find(catalogue.find) } })
    try {
      await meanwhile(token)
      how.ends = true
      const { request_counts } = await server.ended(token, id)
      expect(request_counts).toMatchObject({ total: 3, completed: 3 })
      return (await charged()) - before
    } finally {
      Object.assign(offering, { catalogue })
    }
  }
  const from = () => Date.now() + 60_000

  test('a line costs what its model cost when it was sent, not what it costs when the result comes', async () => {
    const rises = from()
    const dearer = (model: Model): Model => {
      const rates = Object.entries(model.price.rates).map(([name, rate]) => [name, 2 * rate])
      return { ...model, price: { ...model.price, rates: Object.fromEntries(rates) } }
    }
    const later =
      (known: Catalogue['find']) =>
      (name: string, at = Date.now() + skewMs) => {
        const model = known(name)
        return model === undefined || at < rises ? model : dearer(model)
      }
    const passes = async () => {
      skewMs += 120_000
    }
    expect(await soldMeanwhile(later, partModels.openai, passes)).toBe(3n * PART_LINE)
  })

  test('nor what its name stands for by then', async () => {
    const renames = (token: string) =>
      server.send('PUT', '/v1/key/wholesale/me/limits', { aliases: { mine: 'mock/small' } }, token)
    expect(await soldMeanwhile((known) => known, 'mine', renames)).toBe(3n * PART_LINE)
  })

  test('the results of a model that has ended meanwhile are fetched', async () => {
    const ends = from()
    const ended =
      (known: Catalogue['find']) =>
      (name: string, at = Date.now() + skewMs) =>
        name === partModels.openai && at >= ends ? undefined : known(name)
    // So long that its lines would expire if nobody asked for them.
    const passes = async () => {
      skewMs += 24.7 * 3_600_000
      // They have run, also if they are cancelled first.
      server.vendors.openai.how.ranBefore = 3
    }
    expect(await soldMeanwhile(ended, partModels.openai, passes)).toBe(3n * PART_LINE)
  })

  test("Azure's lines are run here while no deployment for batches is named; what one has is fetched", async () => {
    const { how, held, asked } = server.vendors.azure
    const { vendors } = server.gateway.offering
    const setup = vendors.get('azure')
    if (setup === undefined) throw new Error('Azure is off')
    const named = new Map(vendors)
    const { batches: _batches, ...bare } = setup
    const before = await charged()
    how.ends = false
    how.before = (path) => (path.endsWith('/chat/completions') ? completion('run here') : undefined)
    const { token } = await server.newKey()
    const { id } = await begin(token, linesOn('azure', 3))
    await until(() => held.length === 1)
    Object.assign(server.gateway.offering, { vendors: new Map(vendors).set('azure', bare) })
    try {
      const here = await run(linesOn('azure', 2))
      expect(here.batch.request_counts).toEqual({ total: 2, completed: 2, failed: 0 })
      expect(held).toHaveLength(1)
      how.ends = true
      expect((await server.ended(token, id)).request_counts).toEqual({ total: 3, completed: 3, failed: 0 })
      expect((await charged()) - before).toBe(3n * PART_LINE + 2n * 60_000n)
    } finally {
      Object.assign(server.gateway.offering, { vendors: named })
      asked.length = 0
    }
  })

  test('Bedrock takes no few lines: fewer of a batch, or lines in slices, are run here at the full price', async () => {
    const { how, held, asked } = server.vendors.bedrock
    const { vendors } = server.gateway.offering
    const setup = vendors.get('bedrock')
    if (setup === undefined) throw new Error('Bedrock is off')
    const content = [{ text: 'run here' }]
    const here = { output: { message: { role: 'assistant', content } }, stopReason: 'end_turn' }
    const usage = { inputTokens: 11, outputTokens: 7, totalTokens: 18 }
    how.before = (path) => (path.endsWith('/converse') ? Response.json({ ...here, usage }) : undefined)
    Object.assign(server.gateway.offering, {
      vendors: new Map(vendors).set('bedrock', { ...setup, vendor: bedrock }),
    })
    try {
      for (const [count, more, parts] of [
        [99, {}, 0],
        [100, {}, 1],
        [100, { on_cap: 'run_what_fits' }, 1],
      ] as const) {
        const before = await charged()
        const { batch } = await run(linesOn('bedrock', count), more as object)
        expect(batch.request_counts).toEqual({ total: count, completed: count, failed: 0 })
        expect(held).toHaveLength(parts)
        const each = count === 100 && !('on_cap' in more) ? PART_LINE : 2n * PART_LINE
        expect((await charged()) - before).toBe(BigInt(count) * each)
      }
    } finally {
      Object.assign(server.gateway.offering, { vendors })
      asked.length = 0
    }
  })

  test("Azure's batches take responses too, by the same deployment", async () => {
    const before = await charged()
    const all = [0, 1].map((n) => ({
      ...{ custom_id: `line-${n}`, method: 'POST', url: '/v1/responses' },
      body: { model: partModels.azure, input: `say ${n}`, max_output_tokens: 100 },
    }))
    const { batch, results } = await run(all, { endpoint: '/v1/responses' })
    expect(batch.request_counts).toEqual({ total: 2, completed: 2, failed: 0 })
    expect(results.get('line-1').response.body).toMatchObject({ object: 'response', status: 'completed' })
    const { held } = server.vendors.azure
    expect(held.flatMap(({ lines }) => lines.map(({ path }) => path))).toEqual(Array(2).fill('/v1/responses'))
    expect((await charged()) - before).toBe(2n * PART_LINE)
  })

  test('addresses of results elsewhere than at the vendor are not asked', async () => {
    const { how, asked } = server.vendors.fireworks
    const elsewhere = [
      'https://storage.googleapis.com.elsewhere.example/a',
      'http://storage.googleapis.com/a',
    ]
    let named = 0
    how.before = (path) => {
      const url = elsewhere[named]
      if (!path.endsWith(':getDownloadEndpoint') || url === undefined) return undefined
      named++
      return Response.json({ filenameToSignedUrls: { a: url } })
    }
    const { batch } = await run(linesOn('fireworks', 2))
    expect(batch.request_counts).toEqual({ total: 2, completed: 2, failed: 0 })
    expect(named).toBe(2)
    expect(asked.filter((one) => elsewhere.some((url) => one.includes(url)))).toEqual([])
  })

  test('a vendor that is busy is asked again after a pause, and one that refuses is not', async () => {
    const { how, held } = server.vendors.anthropic
    const refusing = (status: number) =>
      Response.json({ type: 'error', error: { type: 'overloaded_error', message: 'No.' } }, { status })
    how.before = (asked) => (held.length === 0 && asked.startsWith('POST') ? refusing(429) : undefined)
    const { token } = await server.newKey()
    const { id } = await begin(token, linesOn('anthropic', 3))
    await until(async () => (await server.store.batches.parts(id.slice('batch_'.length))).length === 0)
    how.before = () => undefined
    skewMs += 6 * 60_000
    expect((await server.ended(token, id)).request_counts).toMatchObject({ completed: 3 })
    how.before = (asked) => (asked.startsWith('POST') ? refusing(400) : undefined)
    const before = await charged()
    const { errors } = await run(linesOn('anthropic', 3))
    expect([...errors.values()].map(({ response }) => response.status_code)).toEqual([400, 400, 400])
    expect((await charged()) - before).toBe(0n)
  })

  test('results that break off are read again; a key that is disabled meanwhile pays for what was sent', async () => {
    const { how } = server.vendors.openai
    how.ends = false
    let reads = 0
    how.before = (asked) => {
      if (!asked.endsWith('/content') || ++reads > 2) return undefined
      const half = new ReadableStream({
        start: (controller) => {
          const [held] = server.vendors.openai.held
          controller.enqueue(new TextEncoder().encode(held?.results.join('\n').slice(0, 3_000)))
          controller.error(new Error('cut'))
        },
      })
      return new Response(half)
    }
    const before = await charged()
    const { id: keyId, token } = await server.newKey()
    const { id } = await begin(token, linesOn('openai', 30))
    await until(() => server.vendors.openai.held.length === 1)
    expect((await server.send('PUT', '/v1/key/wholesale/me/limits', { disabled: true }, token)).status).toBe(
      200,
    )
    how.ends = true
    const own = id.slice('batch_'.length)
    await until(async () => (await server.store.batches.batchFor(own, keyId))?.state === 'ended')
    expect(await server.store.batches.batchFor(own, keyId)).toMatchObject({ succeeded: 30, errored: 0 })
    expect(reads).toBe(3)
    expect((await charged()) - before).toBe(30n * PART_LINE)
  })
})

/** Each vendor of jobs behind the whole server: submitted, polled, stored and charged by its card, in its own form over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../src/core/json-body.ts'
import { Secret } from '../../src/core/secret.ts'
import { modelOf } from '../../src/media/models.ts'
import type { MediaModel } from '../../src/media/product.ts'
import { vendors } from '../../src/vendors/index.ts'
import { type Script, scripts } from '../scripted-answers.ts'
import { type ScriptedVendor, startScriptedVendor } from '../scripted-vendor.ts'
import { until } from '../until.ts'
import type { Reply } from '../vendor-media.ts'
import { type AssetServer, startAssetServer } from './asset-rig.ts'
import { jsonOf } from './harness.ts'

/** The least pause between two polls: vendors set it elsewhere; here it is what a test can wait. */
let everyMs = 1
const hurried = (record: MediaModel): MediaModel =>
  record.shape.flow === 'job'
    ? {
        ...record,
        shape: {
          ...record.shape,
          get everyMs() {
            return everyMs
          },
        },
      }
    : record

const sold = vendors.flatMap((vendor) => {
  const models = (vendor.media?.models ?? []).filter(({ shape }) => shape.flow === 'job').map(hurried)
  return models.length === 0 ? [] : [{ ...vendor, media: { models } }]
})

let server: AssetServer
let vendor: ScriptedVendor

beforeAll(async () => {
  vendor = startScriptedVendor()
  server = await startAssetServer({
    web: vendor.web,
    change: { base: () => 'https://turnpike.test' },
    server: {
      models: sold.flatMap(({ id, media }) => media.models.map((record) => modelOf(id, record))),
      more: sold.map((one) => ({
        vendor: one,
        baseUrl: one.baseUrl,
        secrets: [new Secret('house-key')],
        fetch: vendor.fetch,
      })),
    },
  })
})
afterAll(async () => {
  await server.stop()
  vendor.stop()
})

const stop = (id: string) => server.send('DELETE', `/v1/run/${id}`)

/** Polls now, whatever pause the vendor wants. */
const hasten = () => {
  for (const job of server.gateway.memory.jobs.open.values()) job.dueMs = 0
}

const endedAs = (id: string, status: string) =>
  until(async () => {
    hasten()
    return (await jsonOf(await server.get(`/v1/run/${id}`))).status === status
  })

const held = async () => (await server.store.wallets.wallet(server.wallet))?.held

/** Runs a script; returns what its caller got, and what it paid. */
const run = async ({ id, inputs }: Pick<Script, 'id' | 'inputs'>, headers: Record<string, string> = {}) => {
  const before = await server.balance()
  const response = await server.post('/v1/run', { model: id, inputs }, headers)
  const body = await jsonOf(response)
  return { response, body, paid: before - (await server.balance()) }
}

const scriptOf = (id: string): Script => {
  const script = scripts.find((one) => one.id === id)
  if (script === undefined) throw new Error(`no script of ${id}`)
  return script
}

test('every job that is sold has a script of its vendor', () => {
  const vendorsOfJobs = vendors
    .filter(({ media }) => media?.models.some(({ shape }) => shape.flow === 'job'))
    .map(({ id }) => id)
  expect([...new Set(scripts.map(({ id }) => id.split('/')[0]))].sort()).toEqual(
    [...vendorsOfJobs].sort() as never,
  )
})

describe.each(scripts.map((script) => [script.id, script] as const))('%s', (_id, script) => {
  test('delivers: results are here, the charge is the card’s, the key stays with the vendor', async () => {
    vendor.speak(script)
    const { response, body, paid } = await run(script)
    expect([response.status, body.error]).toEqual([200, undefined])
    expect(body).toMatchObject({ status: 'succeeded', model: script.id })
    expect([paid, await held()]).toEqual([script.charge, 0n])
    expect(body.outputs.length).toBeGreaterThan(0)
    const text = JSON.stringify(body)
    expect(text).not.toContain('cdn.example.com')
    expect(text).not.toContain('a fox')
    for (const output of body.outputs) {
      if (output.url === undefined) continue
      expect(text.split(output.url).length).toBeGreaterThanOrEqual(2)
      expect((await server.fetchUrl(output.url)).status).toBe(200)
    }
    const [name, value] = script.key
    for (const { headers } of vendor.heard) expect(headers.get(name)).toBe(value)
    for (const { headers } of vendor.fetched) expect(JSON.stringify([...headers])).not.toContain('house-key')
  })

  test('is held by its bound while it runs, and free when it is cancelled, or fails where that is not known', async () => {
    vendor.speak(script, { standing: 'pending' })
    const { response, body } = await run(script, { prefer: 'respond-async' })
    expect([response.status, await held()]).toEqual([202, script.bound])
    const before = await server.balance()
    // An address that could change nothing is not shown.
    expect(body.cancel_url !== undefined).toBe(script.cancel !== undefined)
    expect(body.cancel_cost_usd !== undefined).toBe(script.cancel !== undefined)
    if (script.cancel === undefined) vendor.speak(script, { standing: 'failed' })
    else await stop(body.id)
    await endedAs(body.id, script.cancel === undefined ? 'failed' : 'cancelled')
    expect([before - (await server.balance()), await held()]).toEqual([0n, 0n])
    const { cancel } = script
    const asked = ({ method, url }: { method: string; url: string }) =>
      method === cancel?.method && cancel.path.test(new URL(url).pathname)
    expect(vendor.heard.some(asked)).toBe(cancel !== undefined)
  })

  const { cancel } = script
  if (cancel !== undefined)
    test('cancelled without a word about its cost, it costs what was told before, and no more than a finished one', async () => {
      const { usage: _told, cost: _too, ...silent } = cancel.said.json as JsonObject
      vendor.speak(
        { ...script, cancel: { ...cancel, said: { ...cancel.said, json: silent } } },
        { standing: 'pending' },
      )
      const { body } = await run(script, { prefer: 'respond-async' })
      const before = await server.balance()
      await stop(body.id)
      await endedAs(body.id, 'cancelled')
      const paid = before - (await server.balance())
      expect([paid, await held()]).toEqual([BigInt(Math.round(body.cancel_cost_usd * 1e9)), 0n])
      expect(paid).toBeLessThanOrEqual(script.charge)
    })

  test('a job that fails or is blocked says so, and is free', async () => {
    vendor.speak(script, { standing: 'failed' })
    const broken = await run(script)
    expect([broken.response.status, broken.body.error.code, broken.paid]).toEqual([503, 'upstream_error', 0n])
    if (script.blocked === undefined) return
    vendor.speak(script, { standing: 'blocked' })
    const blocked = await run(script)
    expect([blocked.response.status, blocked.body.error.code, blocked.paid]).toEqual([
      400,
      'content_policy_violation',
      0n,
    ])
  })

  test.each(['bad', 'no credits', 'refused key'] as const)(
    'a submission that is refused (%s) is free',
    async (reception) => {
      vendor.speak(script, { reception })
      const { response, body, paid } = await run(script)
      const [status, code] = reception === 'bad' ? [400, 'invalid_parameter'] : [503, 'upstream_error']
      expect([response.status, body.error.code, paid, await held()]).toEqual([status, code, 0n, 0n])
      expect(JSON.stringify(body)).not.toContain('house-key')
    },
  )
})

/** Without the vendor's own estimate, which is that of the script's inputs. */
const withoutCost = ({ json, ...rest }: Reply): Reply => {
  const { cost: _cost, estimatedCost: _estimate, ...taken } = Object(json) as JsonObject
  return { ...rest, json: taken }
}

describe('the examples of all jobs', () => {
  // Polled only on command: until then the scripted vendor speaks the form of the vendor that is asked next.
  beforeAll(() => {
    everyMs = 1e9
  })
  afterAll(() => {
    everyMs = 1
  })
  const examples = sold.flatMap(({ id, media }) =>
    media.models.map(({ name, example }) => ({ vendor: id, id: `${id}/${name}`, inputs: example })),
  )
  /** Below the most that a key may have open. */
  const BATCH = 15
  const batches = Array.from({ length: Math.ceil(examples.length / BATCH) }, (_, at) =>
    examples.slice(at * BATCH, (at + 1) * BATCH),
  )

  test.each(batches.map((batch) => [batch.map(({ id }) => id).join(', '), batch] as const))(
    '%s',
    async (_ids, batch) => {
      const begun: string[] = []
      let all = 0n
      for (const { vendor: vendorId, id, inputs } of batch) {
        const script = scripts.find((one) => one.id.startsWith(`${vendorId}/`))
        if (script === undefined) throw new Error(vendorId)
        vendor.speak({ ...script, taken: withoutCost(script.taken) }, { standing: 'pending' })
        const { response, body } = await run({ id, inputs }, { prefer: 'respond-async' })
        expect([id, response.status, body.error]).toEqual([id, 202, undefined])
        const bound = BigInt(Math.round(body.max_cost_usd * 1e9))
        expect([id, bound > 0n, await held()]).toEqual([id, true, all + bound])
        all += bound
        begun.push(body.id)
      }
      vendor.speak(scriptOf('luma/ray-3.2'), { standing: 'gone' })
      for (const id of begun) await endedAs(id, 'failed')
      expect(await held()).toBe(0n)
    },
  )
})

describe('a vendor that misbehaves', () => {
  const bfl = scriptOf('bfl/flux-2-pro')
  const luma = scriptOf('luma/ray-3.2')

  test('is polled again after answers that are cut off, or that mean nothing', async () => {
    for (const standing of ['cut', 'nonsense'] as const) {
      vendor.speak(luma, { standing })
      const { body } = await run(luma, { prefer: 'respond-async' })
      await until(() => {
        hasten()
        return vendor.heard.filter(({ method }) => method === 'GET').length >= 2
      })
      vendor.speak(luma, { pendings: 1 })
      await endedAs(body.id, 'succeeded')
    }
  })

  test('no longer knows the job: it has failed, and is free', async () => {
    vendor.speak(luma, { standing: 'gone' })
    const before = await server.balance()
    const { body } = await run(luma, { prefer: 'respond-async' })
    await endedAs(body.id, 'failed')
    expect([before - (await server.balance()), await held()]).toEqual([0n, 0n])
  })

  test.each([
    ['inward', bfl],
    ['too large', luma],
    ['a page', luma],
    ['endless', bfl],
  ] as const)('whose result is %s is not paid, and nothing of it is told', async (found, script) => {
    vendor.speak(script, { found })
    const { response, body, paid } = await run(script)
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect([paid, await held()]).toEqual([0n, 0n])
    expect(JSON.stringify(body)).not.toMatch(/cdn\.example|inside\.example|<script/)
  })

  test('that names a stranger’s address for polls does not get the key there', async () => {
    const stranger = {
      ...bfl,
      taken: {
        json: {
          id: 'a1',
          polling_url: 'https://bfl.ai.evil.example/get',
          cost: 4.5,
          input_mp: 0,
          output_mp: 2,
        },
      },
    }
    vendor.speak(stranger)
    const { body } = await run(bfl, { prefer: 'respond-async' })
    await until(() => {
      hasten()
      return server.gateway.memory.jobs.open.get(body.id)?.askedMs !== undefined
    })
    expect(vendor.heard.map(({ url }) => new URL(url).hostname)).toEqual(['api.bfl.ai'])
    await stop(body.id)
  })

  test('calls back late: it wakes the poll, and means nothing after the end', async () => {
    const fal = scriptOf('fal/fal-ai/kling-video/v3/standard/text-to-video')
    vendor.speak(fal, { standing: 'pending' })
    const { body } = await run(fal, { prefer: 'respond-async' })
    const wakeAt = new URL(vendor.heard[0]?.url ?? '').searchParams.get('fal_webhook') ?? ''
    expect(wakeAt).toStartWith('https://')
    vendor.speak(fal)
    const callBack = () =>
      server.fetch(
        new Request(wakeAt, {
          method: 'POST',
          body: '{"status":"OK","payload":{"video":{"url":"https://evil.example/"}}}',
        }),
      )
    expect((await callBack()).status).toBe(204)
    await until(async () => (await jsonOf(await server.get(`/v1/run/${body.id}`))).status === 'succeeded')
    const before = await server.balance()
    expect([(await callBack()).status, await server.balance()]).toEqual([204, before])
  })

  test('whose submission costs more than the bound is cancelled, and free', async () => {
    const runway = scriptOf('runway/gen4.5')
    vendor.speak({ ...runway, taken: { json: { id: 'b2', estimatedCost: { credits: 61 } } } })
    const { response, paid } = await run(runway)
    expect([response.status, paid]).toEqual([503, 0n])
    expect(vendor.heard.some(({ method }) => method === 'DELETE')).toBe(true)
  })
})

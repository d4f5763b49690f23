/**
 * Jobs while their process shuts down, with real processes: what is being submitted is not lost, and callers who cannot
 * come back later get their results.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../program.ts'
import { until } from '../until.ts'
import { png } from './asset-rig.ts'

const SECONDS_MS = 1_000
const picture = png(64, 64)

let home = ''
/** A vendor that takes a job when it is released, and has done it at once. */
let vendor: ReturnType<typeof Bun.serve>
let submitted = 0
/** From now on it never says whether it takes a job. */
let silent = false
const taking = Promise.withResolvers<void>()
const children: { kill(signal?: NodeJS.Signals): void }[] = []

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'turnpike-drain-jobs-'))
  vendor = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async ({ method }) => {
      if (method === 'GET') return new Response(picture, { headers: { 'content-type': 'image/png' } })
      submitted++
      await (silent ? new Promise<never>(() => undefined) : taking.promise)
      return Response.json({ id: 'job' })
    },
  })
})
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  void vendor.stop(true)
  rmSync(home, { recursive: true })
})

const start = async (token?: string, more: Record<string, string> = {}) => {
  const it = await startProgram(home, {
    DATABASE_URL: `sqlite:${home}/jobs.db`,
    STABILITY_API_KEY: 'sk-test',
    STABILITY_BASE_URL: `http://127.0.0.1:${vendor.port}`,
    LOG: 'error',
    ...more,
  })
  children.push(it.child)
  const headers = { authorization: `Bearer ${token ?? it.token}`, 'content-type': 'application/json' }
  const ask = async (path: string, body?: object) => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(it.address + path, { ...init, headers })
    return { status: response.status, json: (await response.json()) as any }
  }
  return { ...it, ask }
}

test('a job that is being submitted is not lost, and an image that cannot be fetched later is waited for', async () => {
  const first = await start()
  const run = first.ask('/v1/run', {
    model: 'stability/upscale-creative',
    inputs: { image: `data:image/png;base64,${picture.toString('base64')}`, prompt: 'stripes' },
  })
  const image = first.ask('/v1/image/generate', { model: 'local/slow-1', prompt: 'a fox' })
  await until(
    async () => (await first.ask('/v1/run?status=running')).json.data.length === 1 && submitted === 1,
  )
  const startedMs = performance.now()
  first.child.kill('SIGTERM')
  expect((await image).status).toBe(200)
  taking.resolve()
  const { status, json } = await run
  expect([status, json.status]).toEqual([202, 'running'])
  expect(await first.child.exited).toBe(0)
  expect(performance.now() - startedMs).toBeLessThan(100 * SECONDS_MS)
  // Whichever process runs next goes on with it at once.
  const next = await start(first.token)
  await until(async () => (await next.ask(`/v1/run/${json.id}`)).json.status === 'succeeded')
  expect(submitted).toBe(1)
})

test('who waits for an image longer than the process may take to end is told what becomes of it', async () => {
  const it = await start(undefined, { DATABASE_URL: `sqlite:${home}/told.db`, DRAIN_SECONDS: '2' })
  const images = Array.from({ length: 3 }, () =>
    it.ask('/v1/image/generate', { model: 'local/slow-1', prompt: 'a fox' }),
  )
  await until(async () => (await it.ask('/v1/run?status=running')).json.data.length === 3)
  it.child.kill('SIGTERM')
  for (const { status, json } of await Promise.all(images)) {
    // A slow machine may have made it by then.
    if (status === 200) continue
    expect([status, json.error.code]).toEqual([503, 'upstream_error'])
    expect(json.error.run_id).toBeString()
  }
  expect(await it.child.exited).toBe(0)
})

test('who waits for a submission that outlasts the process is told where to ask, and no connection is cut', async () => {
  silent = true
  const database = { DATABASE_URL: `sqlite:${home}/silent.db` }
  const it = await start(undefined, { ...database, DRAIN_SECONDS: '2' })
  const job = {
    model: 'stability/upscale-creative',
    inputs: { image: `data:image/png;base64,${picture.toString('base64')}`, prompt: 'stripes' },
  }
  const before = submitted
  const asking = [
    it.ask('/v1/run', job),
    it.ask('/v1/run', { ...job, webhook: { url: 'https://hooks.example.com/' } }),
  ] as const
  const all = Promise.all(asking)
  await until(async () => submitted === before + 2)
  it.child.kill('SIGTERM')
  const [plain, hooked] = await all
  expect([plain.status, plain.json.status]).toEqual([202, 'queued'])
  // No webhook follows a submission that was lost, so its caller must not wait for one.
  expect([hooked.status, hooked.json.error.code]).toEqual([503, 'upstream_error'])
  expect(await it.child.exited).toBe(0)
  const next = await start(it.token, database)
  for (const id of [plain.json.id, hooked.json.error.run_id])
    await until(async () => (await next.ask(`/v1/run/${id}`)).json.status === 'failed')
})

/**
 * Batches at vendors with real processes on one ledger: one is killed with -9 at each arrow of a part, another goes on. Each
 * line has one result and is charged once, the vendor ran nothing twice that it had taken, and the books hold.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { openStore } from '../../src/store/open-store.ts'
import { batchVendor } from '../clients/vendors/batches.ts'
import { BATCH_BUCKET, BATCH_ROLE, BUCKET_KEY } from '../clients/vendors/bucket-batches.ts'
import { AZURE_DEPLOYMENT } from '../clients/vendors/file-batches.ts'
import { postgresForTests, type TestDatabase } from '../postgres.ts'
import { endPrograms, startProgram } from '../program.ts'
import { brokenLaws } from '../store/engines.ts'
import { until } from '../until.ts'
import { chatLine, jsonLines } from './batch-rig.ts'
import { startBucket } from './part-rig.ts'

const LINES = 50
const home = mkdtempSync(join(tmpdir(), 'turnpike-parts-'))
const bucket = await startBucket()
const vendors = {
  ...{ openai: batchVendor('openai'), azure: batchVendor('azure') },
  bedrock: batchVendor('bedrock', { bedrock: bucket.address, vertex: new Map() }),
}
const models = {
  ...{ openai: 'openai/gpt-5-mini', azure: 'azure/gpt-5-mini' },
  bedrock: 'bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0',
}
writeFileSync(
  join(home, 'turnpike.yaml'),
  `vendors:
  azure: { batches: { gpt-5-mini: ${AZURE_DEPLOYMENT} } }
  bedrock: { batch: { bucket: 's3://${BATCH_BUCKET}/ours', role: '${BATCH_ROLE}', endpoint: '${bucket.address}' } }`,
)
let database: TestDatabase
let server: ReturnType<typeof Bun.serve>
let apiKey = ''
/** Where the next process dies: a request, and whether the vendor has worked on it by then. */
let arrow: { readonly asked: RegExp; readonly worked: boolean; readonly reached: () => void } | undefined

beforeAll(async () => {
  database = await postgresForTests()
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const { method, headers } = request
      const { pathname, search } = new URL(request.url)
      const body = new Uint8Array(await request.arrayBuffer())
      const dies = arrow?.asked.test(`${method} ${pathname}`) === true ? arrow : undefined
      if (dies !== undefined) arrow = undefined
      const work = () =>
        vendors[
          pathname.startsWith('/openai/') ? 'azure' : pathname.startsWith('/bedrock/') ? 'bedrock' : 'openai'
        ].fetch(`http://vendor.invalid${pathname.replace('/bedrock/', '/')}${search}`, {
          method,
          headers,
          body,
        })
      const answer = dies?.worked === false ? undefined : await work()
      dies?.reached()
      return dies === undefined && answer !== undefined ? answer : new Promise<Response>(() => undefined)
    },
  })
})
afterAll(async () => {
  await endPrograms()
  await server.stop(true)
  await database.stop()
  await bucket.stop()
  rmSync(home, { recursive: true })
})

const start = (more = {}) =>
  startProgram(home, {
    DATABASE_URL: database.url,
    ASSETS: join(home, 'assets'),
    OPENAI_API_KEY: 'house-key',
    OPENAI_BASE_URL: `http://127.0.0.1:${server.port}/v1`,
    AZURE_API_KEY: 'house-key',
    AZURE_BASE_URL: `http://127.0.0.1:${server.port}/openai/v1`,
    AWS_ACCESS_KEY_ID: BUCKET_KEY,
    AWS_SECRET_ACCESS_KEY: BUCKET_KEY,
    AWS_REGION: 'us-east-1',
    BEDROCK_BASE_URL: `http://127.0.0.1:${server.port}/bedrock/v1`,
    TURNPIKE_CONFIG: join(home, 'turnpike.yaml'),
    PLAN_RPM: '100000',
    LOG: 'error',
    ...more,
  })

const arrows = [
  ['before the file is uploaded', /^POST \/v1\/files$/, false],
  ['when the vendor has the batch, and its name is not known', /^POST \/v1\/batches$/, true],
  ['while it is asked for', /^GET \/v1\/batches\/batch_/, false],
  ['while its results are read', /^GET \/v1\/files\/.*content$/, true],
  ['before Azure has processed the file', /^GET \/openai\/v1\/files\/file-[^/]*$/, false],
  ['when Azure has the batch, and its name is not known', /^POST \/openai\/v1\/batches$/, true],
  ['when Bedrock has the job, and its name is not known', /^POST \/bedrock\/v1\/model-invocation-job$/, true],
  ['while Bedrock is asked for it', /^GET \/bedrock\/v1\/model-invocation-job\/job/, true],
  // The last one: its processes hand nothing on.
  [
    'while it is asked for, and the next process hands nothing on',
    /^GET \/v1\/batches\/batch_/,
    false,
    { BATCH_AT_VENDORS: 'off' },
  ],
] as const

test('a process is killed at each arrow, and another ends its batch', async () => {
  let running = await start()
  apiKey = running.token
  const store = await openStore({ url: database.url })
  for (const [where, asked, worked, more] of arrows) {
    const before = await store.ledger.balance('revenue')
    const kind = where.includes('Azure') ? 'azure' : where.includes('Bedrock') ? 'bedrock' : 'openai'
    const count = kind === 'bedrock' ? 2 * LINES : LINES
    const vendor = vendors[kind]
    const lines = Array.from({ length: count }, (_, n) => chatLine(n, {}, models[kind]))
    vendor.held.length = 0
    const next = await start(more)
    const at = ({ address }: typeof running) =>
      new OpenAI({ apiKey, baseURL: `${address}/v1`, maxRetries: 0 })
    const reached = Promise.withResolvers<void>()
    arrow = { asked, worked, reached: reached.resolve }
    const file = await toFile(Buffer.from(jsonLines(lines)), 'lines.jsonl')
    const { id: input_file_id } = await at(running).files.create({ file, purpose: 'batch' })
    const { id } = await at(running).batches.create({
      ...{ input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' },
    })
    await reached.promise
    running.child.kill('SIGKILL')
    await running.child.exited
    expect([where, await brokenLaws(store)]).toEqual([where, []])
    running = next
    let batch = await at(running).batches.retrieve(id)
    await until(async () => {
      batch = await at(running).batches.retrieve(id)
      return batch.status === 'completed'
    })
    expect([where, batch.request_counts]).toEqual([where, { total: count, completed: count, failed: 0 }])
    expect([where, vendor.held.length]).toEqual([where, 1])
    await until(async () => (await bucket.names()).length === 0)
    const text = await (await at(running).files.content(batch.output_file_id ?? '')).text()
    const results = text
      .trimEnd()
      .split('\n')
      .map((line): any => JSON.parse(line))
    expect(results.map(({ custom_id }) => custom_id)).toEqual(lines.map(({ custom_id }) => custom_id))
    const cost = results.reduce((sum, { response }) => sum + Math.round(response.body.usage.cost * 1e9), 0)
    expect((await store.ledger.balance('revenue')) - before).toBe(BigInt(cost))
    expect(await brokenLaws(store)).toEqual([])
  }
  const sql = new Bun.SQL(database.url)
  await until(
    async () =>
      (await sql`select 1 from lease where instance like 'job:%' and state <> 'closed'`).length === 0,
  )
  expect(await sql`select 1 from inflight where lease_id like 'job:%'`).toHaveLength(0)
  expect(await sql`select 1 from batch_part`).toHaveLength(0)
  await sql.close()
  await store.close()
})

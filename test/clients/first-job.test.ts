/** The commands of docs/jobs.md, as they stand there, by a shell and curl, on the built-in job. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { modelOf } from '../../src/media/models.ts'
import { localFetch } from '../../src/transport/local.ts'
import { mediaHere } from '../../src/transport/local-media/serve.ts'
import { type AssetServer, startAssetServer } from '../server/asset-rig.ts'
import { mockSetup } from '../server/harness.ts'
import { until } from '../until.ts'

let server: AssetServer
let folder: string
let stop: () => Promise<void>
let environment: Record<string, string>

beforeAll(async () => {
  let gate = ''
  server = await startAssetServer({
    change: { base: () => gate },
    server: {
      models: mediaHere.models.map((one) => modelOf('local', one)),
      more: [{ ...mockSetup({ id: 'local', media: mediaHere }, localFetch), baseUrl: 'local:' }],
    },
  })
  const bound = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
  gate = `http://127.0.0.1:${bound.port}`
  folder = await mkdtemp(join(tmpdir(), 'turnpike-first-job-'))
  environment = { PATH: process.env.PATH ?? '', GATE: gate, KEY: (await server.newKey()).token }
  stop = async () => {
    await bound.stop(true)
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
afterAll(() => stop())

const page = await readFile(new URL('../../docs/jobs.md', import.meta.url), 'utf8')
const [submit = '', poll = '', cancel = '', ...more] = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(
  ([, block]) => block,
)

const run = async (block: string): Promise<void> => {
  const shell = Bun.spawn(['sh', '-e', '-c', block], { cwd: folder, env: environment, stderr: 'pipe' })
  expect([await shell.exited, await new Response(shell.stderr).text()]).toEqual([0, ''])
}
const written = async (file: string) => JSON.parse(await readFile(join(folder, file), 'utf8'))

test('each command is run here', () => {
  expect([submit, poll, cancel].map((block) => block.includes('curl'))).toEqual([true, true, true])
  expect(more).toEqual([])
})

test('a job is accepted, asked for until it has ended, and its picture read', async () => {
  await run(submit)
  expect(await written('run.json')).toMatchObject({ object: 'run', status: 'running', model: 'local/slow-1' })
  await run(poll)
  const { status, outputs, usage } = await written('run.json')
  expect([status, outputs.length, usage.cost > 0]).toEqual(['succeeded', 1, true])
  const picture = await readFile(join(folder, 'lighthouse.png'))
  expect([picture.toString('latin1', 1, 4), picture.length]).toEqual(['PNG', outputs[0].bytes])
})

test('a job is listed while it runs, cancelled, and free', async () => {
  await run(cancel)
  const { data } = await written('running.json')
  const { id } = await written('cancelled.json')
  expect(data.map((one: { id: string }) => one.id)).toEqual([id])
  await until(async () => (await server.store.runs.run(id))?.state === 'cancelled')
  expect(await server.store.ledger.transfersOf(id)).toEqual([])
})

/** Runs the commands of docs/jobs.md unchanged, by a shell and curl, on the built-in job. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mediaHere } from '../../src/transport/local-media/serve.ts'
import { until } from '../until.ts'
import { blocksOf, startDocumented } from './documented.ts'

let it: Awaited<ReturnType<typeof startDocumented>>
beforeAll(async () => {
  it = await startDocumented(mediaHere.models)
})
afterAll(() => it.stop())

const [submit = '', poll = '', cancel = '', ...more] = await blocksOf('jobs.md')

const written = async (file: string) => JSON.parse(await readFile(join(it.folder, file), 'utf8'))

test('each command is run here', () => {
  expect([submit, poll, cancel].map((block) => block.includes('curl'))).toEqual([true, true, true])
  expect(more).toEqual([])
})

test('a job is accepted, asked for until it has ended, and its picture read', async () => {
  await it.run(submit)
  expect(await written('run.json')).toMatchObject({ object: 'run', status: 'running', model: 'local/slow-1' })
  await it.run(poll)
  const { status, outputs, usage } = await written('run.json')
  expect([status, outputs.length, usage.cost > 0]).toEqual(['succeeded', 1, true])
  const picture = await readFile(join(it.folder, 'lighthouse.png'))
  expect([picture.toString('latin1', 1, 4), picture.length]).toEqual(['PNG', outputs[0].bytes])
})

test('a job is listed while it runs, cancelled, and free', async () => {
  await it.run(cancel)
  const { data } = await written('running.json')
  const { id } = await written('cancelled.json')
  expect(data.map((one: { id: string }) => one.id)).toEqual([id])
  await until(async () => (await it.server.store.runs.run(id))?.state === 'cancelled')
  expect(await it.server.store.ledger.transfersOf(id)).toEqual([])
})

/** `turnpike batch` beside a running server: a batch is seen while it runs, cancelled, and its lines told as they ended. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { endPrograms, runProgram, startProgram } from '../program.ts'
import { chatLine, jsonLines } from '../server/batch-rig.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-batch-'))
const settings = { DATABASE_URL: `sqlite:${folder}/ledger.db`, ASSETS: join(folder, 'assets') }
const goOn = Promise.withResolvers<void>()
let heard = 0
let vendor: ReturnType<typeof Bun.serve>

beforeAll(() => {
  vendor = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async () => {
      heard++
      await goOn.promise
      const choices = [
        { index: 0, message: { role: 'assistant', content: 'heard' }, finish_reason: 'stop' as const },
      ]
      const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
      return Response.json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage })
    },
  })
  writeFileSync(
    join(folder, 'turnpike.yaml'),
    `vendors:\n  mock:\n    base_url: http://127.0.0.1:${vendor.port}/v1\n    models:\n      m: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 50000 }\n`,
  )
})
afterAll(async () => {
  await endPrograms()
  await vendor.stop(true)
  rmSync(folder, { recursive: true })
})

const run = (...args: string[]) => runProgram(folder, settings, 'batch', ...args)
const json = async (...args: string[]): Promise<any> => {
  const { code, out, errors } = await run(...args, '--json')
  expect([args.join(' '), code, errors]).toEqual([args.join(' '), 0, ''])
  return JSON.parse(out)
}

const LINES = 100

test('a batch is listed, shown and cancelled; what was sent is charged and told', async () => {
  const { address, token } = await startProgram(folder, settings)
  const client = new OpenAI({ apiKey: token, baseURL: `${address}/v1`, maxRetries: 0 })
  expect((await json('list')).data).toEqual([])
  const begin = async (count: number) => {
    const lines = Array.from({ length: count }, (_, n) => chatLine(n, {}, 'mock/m'))
    const file = await toFile(Buffer.from(jsonLines(lines)), 'lines.jsonl')
    const { id: input_file_id } = await client.files.create({ file, purpose: 'batch' })
    const begins = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const
    return (await client.batches.create(begins)).id
  }
  const id = await begin(LINES)
  await until(() => heard > 0)
  const running = await json('show', id)
  expect(running).toMatchObject({ id, form: 'openai', status: 'in_progress', stopped_by: null, cost_usd: 0 })
  const { total, waiting, sent } = running.lines
  expect([total, waiting + sent]).toEqual([LINES, LINES])

  const newer = await begin(1)
  const first = await json('list', '--limit', '1')
  expect([first.data.map((one: any) => one.id), first.has_more]).toEqual([[newer], true])
  expect((await run('list', '--limit', '1')).out).toContain(`older ones: --after ${newer}`)
  const rest = await json('list', '--after', newer, '--key', token)
  expect([rest.data.map((one: any) => one.id), rest.has_more]).toEqual([[id], false])
  expect((await json('list', '--tenant', 'key_of_nobody')).data).toEqual([])

  const cancelled = await json('cancel', id)
  expect(cancelled).toMatchObject({ id, status: 'cancelling', stopped_by: 'cancelled' })
  const { stopped } = cancelled.lines
  expect([cancelled.lines.waiting, stopped > 0]).toEqual([0, true])
  goOn.resolve()
  await until(async () => (await json('show', id)).status === 'cancelled')
  // Each line of 10 tokens in and 5 out costs 10 × 1,000 and 5 × 10,000 nano-USD.
  const ended = await json('cancel', id)
  const succeeded = LINES - stopped
  expect(ended).toMatchObject({
    status: 'cancelled',
    lines: { total: LINES, waiting: 0, sent: 0, succeeded, errored: 0, stopped },
    cost_usd: Number((succeeded * 0.00006).toFixed(9)),
    input_tokens: 10 * succeeded,
    output_tokens: 5 * succeeded,
  })
  expect((await run('show', id)).out).toContain(' cancelled ')

  const { out } = await runProgram(folder, settings, 'events', '--json')
  const events = JSON.parse(out).filter((one: any) => one.what === 'batch.cancelled')
  expect(events).toMatchObject([{ subject: id, after: { lines_stopped: stopped } }])

  const unknown = await run('show', 'batch_nothing')
  expect([unknown.code, unknown.errors]).toEqual([1, expect.stringContaining('There is no batch of this id')])
})

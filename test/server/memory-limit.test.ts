/** A real process in little memory: it refuses what does not fit, and lives. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atStart } from '../../src/cli/compiled.ts'
import { memoryGroup } from '../cgroup.ts'
import { endPrograms, startProgram } from '../program.ts'
import { completion } from './harness.ts'

const MB = 1024 * 1024
const LIMIT = 220 * MB
const CALLS = 120

const home = mkdtempSync(join(tmpdir(), 'turnpike-limit-'))
const group = memoryGroup(LIMIT)

/** A vendor that answers only when every call of a wave has come to it or was refused. */
const lateVendor = () => {
  let gate = Promise.withResolvers<void>()
  let left = 0
  const oneLess = () => {
    if (--left === 0) gate.resolve()
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      await request.bytes()
      const { promise } = gate
      oneLess()
      await promise
      return completion('hello')
    },
  })
  const begin = (calls: number) => {
    left = calls
    gate = Promise.withResolvers()
  }
  return { server, oneLess, begin }
}

const vendor = lateVendor()

afterAll(async () => {
  await endPrograms()
  await vendor.server.stop(true)
  await group?.remove()
  rmSync(home, { recursive: true })
})

const content = 'word '.repeat((2 * MB) / 5)
const body = JSON.stringify({
  model: 'openai/gpt-4o-mini',
  max_tokens: 9,
  messages: [{ role: 'user', content }],
})

/** The same body without a length: the server learns only while it reads how much memory it takes. */
const inPieces = () =>
  new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(body))
      controller.close()
    },
  })

test('120 calls of 2 MB at once in 220 MB: each is answered, or refused with 503 and Retry-After, and the process lives', async () => {
  const settings = {
    OPENAI_API_KEY: 'k',
    OPENAI_BASE_URL: `http://127.0.0.1:${vendor.server.port}/v1`,
    PLAN_RPM: '1000',
    KEY_SHARE_PERCENT: '100',
    LOG: 'off',
  }
  const { child, address, token } = await (group === undefined
    ? // Where no limit can be set, the process is told of one.
      startProgram(home, { ...settings, MEMORY_MAX: String(LIMIT) })
    : startProgram(home, { ...atStart, ...settings }, 'inherit', group.program))
  const call = async (sent: () => string | ReadableStream) => {
    const answer = await fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: sent(),
    })
    await answer.bytes()
    if (answer.status !== 200) vendor.oneLess()
    return answer.status === 503 ? `503 after ${answer.headers.get('retry-after')} s` : answer.status
  }
  const wave = (calls: number, one: () => Promise<unknown>) => {
    vendor.begin(calls)
    return Promise.all(Array.from({ length: calls }, one))
  }
  // Calls that ask for the last room at one moment may all be refused; a later one finds it free again.
  for (const sent of [() => body, inPieces, () => body]) {
    const answers = await wave(CALLS, () => call(sent))
    expect(answers).toContain('503 after 2 s')
    expect(new Set([...answers, 200])).toEqual(new Set(['503 after 2 s', 200]))
    expect(await wave(1, () => call(sent))).toEqual([200])
  }
  expect(child.exitCode).toBeNull()
})

/**
 * The memory of a real process while callers send bodies that are large, many and never end, and read nothing of answers
 * that are kept for them.
 */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../program.ts'
import { until } from '../until.ts'

const MB = 1_000_000
const CALLERS = 300
const BODY = 3 * MB
const BUDGET = 20 * MB

const home = mkdtempSync(join(tmpdir(), 'turnpike-memory-'))
afterAll(() => rmSync(home, { recursive: true }))

const residentOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

test('300 bodies of 3 MB that never end take no more than the budget, and others are served', async () => {
  const { child, address, token } = await startProgram(home, {
    DATABASE_URL: `sqlite:${home}/ledger.db`,
    BUFFER_BYTES_MAX: String(BUDGET),
    LOG: 'off',
  })
  try {
    const at = new URL(address)
    const before = residentOf(child.pid)
    const half = Buffer.alloc(BODY - 1, 32)
    let answered = 0
    const sockets = Array.from({ length: CALLERS }, (_, index) => {
      const socket = connect(Number(at.port), at.hostname)
      // Half of them do not say how long their body is, and some have no key.
      const key = index % 3 === 0 ? '' : `Authorization: Bearer ${token}\r\n`
      const path = index % 3 === 0 ? '/api/webhooks/stripe' : '/v1/chat/completions'
      const head = `POST ${path} HTTP/1.1\r\nHost: ${at.host}\r\n${key}Content-Type: application/json\r\n`
      socket.on('error', () => undefined)
      socket.once('data', () => answered++)
      socket.write(
        index % 2 === 0
          ? `${head}Content-Length: ${BODY}\r\n\r\n`
          : `${head}Transfer-Encoding: chunked\r\n\r\n${half.length.toString(16)}\r\n`,
      )
      socket.write(half)
      return socket
    })
    let peak = 0
    // Most are refused; those that fit are waited for, and take no more than they declared.
    while (answered < CALLERS - 1 - BUDGET / BODY) {
      peak = Math.max(peak, residentOf(child.pid))
      await Bun.sleep(10)
    }
    const other = await fetch(`${address}/v1/models`, { headers: { authorization: `Bearer ${token}` } })
    expect(other.status).toBe(200)
    peak = Math.max(peak, residentOf(child.pid))
    expect(peak - before).toBeLessThan(150 * MB)
    for (const socket of sockets) socket.destroy()
  } finally {
    child.kill('SIGKILL')
    await child.exited
  }
})

const STREAMS = 40
const PIECE = 50_000
const PIECES = 200

test('40 streams of 10 MB that are kept and that nobody reads take little more than the budget, also while they are stored', async () => {
  const event = new TextEncoder().encode(
    `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"${'x'.repeat(PIECE)}"},"finish_reason":null}]}\n\n`,
  )
  const streamOf = (left: number) =>
    new ReadableStream({
      pull: (controller) => (left-- > 0 ? controller.enqueue(event) : controller.close()),
    })
  const headers = { 'content-type': 'text/event-stream' }
  const vendor = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(streamOf(PIECES), { headers }),
  })
  writeFileSync(
    join(home, 'turnpike.yaml'),
    `vendors:\n  mock:\n    base_url: http://127.0.0.1:${vendor.port}/v1\n    models:\n      m: { input_usd_per_1m: "0.001", output_usd_per_1m: "0.001", context_tokens: 100000, max_output_tokens: 9000000 }\n`,
  )
  const { child, address, token } = await startProgram(home, {
    DATABASE_URL: `sqlite:${home}/kept.db`,
    BUFFER_BYTES_MAX: String(200 * MB),
    KEY_SHARE_PERCENT: '100',
    REPORT_RPM: '100000',
    LOG: 'off',
  })
  try {
    const at = new URL(address)
    const before = residentOf(child.pid)
    const body = JSON.stringify({
      model: 'mock/m',
      stream: true,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    const sockets = Array.from({ length: STREAMS }, (_, index) => {
      const socket = connect(Number(at.port), at.hostname)
      socket.on('error', () => undefined)
      socket.once('data', () => socket.pause())
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nHost: ${at.host}\r\nAuthorization: Bearer ${token}\r\nIdempotency-Key: ${index}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      return socket
    })
    let peak = 0
    const charged = async () => {
      peak = Math.max(peak, residentOf(child.pid))
      const usage = await fetch(`${address}/v1/usage`, { headers: { authorization: `Bearer ${token}` } })
      if (usage.status !== 200) return false
      return (
        ((await usage.json()) as { data: { total: { requests: number } } }).data.total.requests === STREAMS
      )
    }
    await until(charged)
    expect(peak - before).toBeLessThan(800 * MB)
    for (const socket of sockets) socket.destroy()
  } finally {
    child.kill('SIGKILL')
    await child.exited
    await vendor.stop(true)
  }
})

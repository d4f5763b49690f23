/** The memory of a real process while callers send bodies that are large, many and never end. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../program.ts'

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

/** A process that can open no more files: it says so at its start, and strangers who use them up do not end it. */
import { afterAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endPrograms, ownProgram, startProgram } from '../program.ts'
import { until } from '../until.ts'
import { completion } from './harness.ts'

const FILES = 256
/** So long a call meets used-up files. */
const MEANWHILE_MS = 500
const home = mkdtempSync(join(tmpdir(), 'turnpike-files-'))
const vendor = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => completion('hello') })
afterAll(async () => {
  await endPrograms()
  await vendor.stop(true)
  rmSync(home, { recursive: true })
})

const body = JSON.stringify({
  model: 'openai/gpt-4o-mini',
  max_tokens: 9,
  messages: [{ role: 'user', content: 'hi' }],
})

test.if(existsSync('/proc/self/fd'))(
  'idle connections that hold all files end no process, and calls work again afterwards',
  async () => {
    const settings = {
      OPENAI_API_KEY: 'k',
      OPENAI_BASE_URL: `http://127.0.0.1:${vendor.port}/v1`,
      LOG: 'warn',
    }
    const few = ['sh', '-c', `ulimit -n ${FILES}; exec "$0" "$@"`, ownProgram]
    const { child, address, token } = await startProgram(home, settings, 'pipe', few)
    const log = new Response(child.stderr as ReadableStream).text()
    const { hostname, port } = new URL(address)
    const open = () =>
      new Promise<Socket>((resolve) => {
        const socket = connect(Number(port), hostname, () => resolve(socket))
        socket.on('error', () => undefined)
      })
    const caller = await open()
    let heard = ''
    caller.on('data', (data) => {
      heard += data.toString()
    })
    const idle = await Promise.all(Array.from({ length: 2 * FILES }, open))
    await until(() => readdirSync(`/proc/${child.pid}/fd`).length >= FILES)
    caller.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    // The runtime refuses the connection to the vendor at once, or keeps it waiting until there are files again.
    await Bun.sleep(MEANWHILE_MS)
    for (const socket of idle) socket.destroy()
    await until(() => heard.includes('\r\n\r\n') || child.exitCode !== null)
    expect(heard).toMatch(/^HTTP\/1\.1 (503|200) /)
    const ask = () =>
      fetch(`${address}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
      }).then(({ status }) => status)
    await until(async () => (await ask()) === 200)
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
    expect(await log).toContain(`"setting":"${FILES} files, about 28 calls"`)
  },
)

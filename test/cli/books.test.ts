/** A server reports in its status and its log that its books do not balance, without being asked for an audit. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../program.ts'

test('a server that starts on books that were edited says so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-books-'))
  const settings = { DATABASE_URL: 'sqlite:books.db', LOG: 'error' }
  const end = async (child: { kill(signal: 'SIGTERM'): void; exited: Promise<number> }) => {
    child.kill('SIGTERM')
    await child.exited
  }
  try {
    await end((await startProgram(folder, settings)).child)
    const ledger = new Database(join(folder, 'books.db'))
    ledger.run('update account set balance = balance + 1 where bounded = 1')
    ledger.close()
    const { child, address } = await startProgram(folder, settings, 'pipe')
    const status = async () => (await (await fetch(`${address}/api/status`)).json()) as any
    while ((await status()).services.books.status === 'ok') await Bun.sleep(20)
    expect((await status()).status).toBe('degraded')
    await end(child)
    expect(await new Response(child.stderr as ReadableStream).text()).toContain('the books do not balance')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** `turnpike own-key` and `turnpike secret rotate`, as an operator runs them beside a ledger. */
import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { tempFolder } from '../temp-folder.ts'

const main = join(import.meta.dir, '../../src/main.ts')
const KEY = 'sk-own-0123456789abcdef-tail'

/** A vendor that takes one key. */
const vendor = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: ({ headers }) =>
    headers.get('authorization') === `Bearer ${KEY}`
      ? Response.json({ data: [] })
      : Response.json({ error: { message: 'no' } }, { status: 401 }),
})
afterAll(() => vendor.stop(true))

test('a key is added from the input, tried, turned off, wrapped anew under another secret, and removed', async () => {
  const home = await tempFolder('turnpike-own-key-')
  const url = `sqlite:${join(home, 'ledger.db')}`
  const store = await openStore({ url })
  await store.wallets.createWallet({ id: 'wal_a', orgId: 'org_a', name: 'a' }, byTest)
  await store.close()
  const run = async (words: string, input = '', settings: Readonly<Record<string, string>> = {}) => {
    const ran = Bun.spawn([process.execPath, main, ...words.split(' ')], {
      cwd: home,
      env: {
        PATH: process.env.PATH ?? '',
        DATABASE_URL: url,
        GROQ_API_KEY: 'house-key',
        GROQ_BASE_URL: `http://127.0.0.1:${vendor.port}`,
        TURNPIKE_SECRET: 'the secret of this test',
        ...settings,
      },
      stdin: new Blob([input]),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, error] = await Promise.all([new Response(ran.stdout).text(), new Response(ran.stderr).text()])
    return { out, error, code: await ran.exited }
  }
  const org = '--org org_a --json'
  expect((await run(`own-key add groq ${org}`, 'sk-another-0123456789')).error).toContain('refuses this key')
  const added = await run(`own-key add groq ${org}`, `${KEY}\n`)
  expect([added.code, added.error]).toEqual([0, ''])
  const { id, key } = JSON.parse(added.out)
  expect(key).toBe('…tail')
  expect(JSON.parse((await run(`own-key try ${id} ${org}`)).out).outcome).toBe('taken')
  expect(JSON.parse((await run(`own-key change ${id} --off ${org}`)).out).enabled).toBe(false)
  expect(JSON.parse((await run(`own-key change ${id} --fall-back on ${org}`)).out).fall_back).toBe(true)
  const next = { OWN_KEYS_SECRET: 'another secret of data keys' }
  const status = await run('secret status --json', '', next)
  expect([status.code, JSON.parse(status.out).data_keys]).toEqual([1, 1])
  expect(JSON.parse((await run('secret rotate --json', '', next)).out)).toEqual({ wrapped: 1, left: 0 })
  expect(JSON.parse((await run(`own-key try ${id} ${org}`, '', next)).out).outcome).toBe('taken')
  expect((await run(`own-key try ${id} ${org}`)).error).toContain('cannot be opened')
  const listed = await run(`own-key list ${org}`)
  expect([JSON.parse(listed.out).data.length, listed.out.includes(KEY)]).toEqual([1, false])
  const rotated = JSON.parse((await run(`own-key rotate ${id} --vendor groq ${org}`, KEY, next)).out)
  expect([rotated.id === id, rotated.place, rotated.enabled]).toEqual([false, 1, false])
  const removed = await run(`own-key remove ${rotated.id} ${org}`)
  expect(JSON.parse(removed.out)).toEqual({ id: rotated.id, removed: true, left: 0 })
})

/** `turnpike receipt`: a receipt checked away from its server, and keys rotated and revoked beside it. */
import { afterAll, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { growLog } from '../../src/gateway/keep-sealing.ts'
import { thumbprintOf } from '../../src/receipts/keys.ts'
import { signLogHead } from '../../src/receipts/log-head.ts'
import { leafHash } from '../../src/receipts/merkle.ts'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { runProgram, type Settings, startProgram } from '../program.ts'
import { jsonOf, startTestServer } from '../server/harness.ts'
import { until } from '../until.ts'

const root = resolve(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'turnpike-receipt-'))

afterAll(() => rmSync(folder, { recursive: true }))

const run = (settings: Settings, ...args: string[]) => runProgram(folder, settings, 'receipt', ...args)

/** No database can be opened there, so a command that needs none must not try. */
const nowhere = { DATABASE_URL: 'sqlite:/dev/null/nowhere.db' }

test('a receipt is checked against a file or an address, without server and database', async () => {
  const server = await startTestServer()
  const answer = await server.post('/v1/chat/completions', {
    model: 'mock/small',
    messages: [{ role: 'user', content: 'hi' }],
  })
  const receipt = answer.headers.get('x-receipt') ?? ''
  const file = join(folder, 'jwks.json')
  writeFileSync(file, await (await server.get('/.well-known/jwks.json', '')).text())
  const listening = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: server.fetch })
  const address = `http://127.0.0.1:${listening.port}`

  const good = await run(nowhere, 'verify', receipt, '--jwks', file, '--json')
  expect([good.code, good.errors]).toEqual([0, ''])
  expect(JSON.parse(good.out)).toMatchObject({
    valid: true,
    recomputes: true,
    claims: { model: 'mock/small' },
  })
  const shown = await run(nowhere, 'verify', receipt, '--jwks', `${address}/.well-known/jwks.json`)
  expect(shown.code).toBe(0)
  expect(shown.out).toStartWith('valid, signed by ')
  expect(shown.out).toContain('the amount follows from usage and prices')

  const named = ['verify', receipt, '--jwks', file, '--issuer']
  expect((await run(nowhere, ...named, 'https://turnpike.test')).code).toBe(0)
  expect((await run(nowhere, ...named, 'https://other.test')).out).toContain('signature_mismatch')

  const [header, payload = '', signature] = receipt.split('.')
  const claims = Buffer.from(payload, 'base64url').toString().replace('"input":10', '"input":11')
  const forged = [header, Buffer.from(claims).toString('base64url'), signature].join('.')
  const bad = await run(nowhere, 'verify', forged, '--jwks', file, '--json')
  expect([bad.code, JSON.parse(bad.out)]).toEqual([1, { valid: false, error: 'signature_mismatch' }])
  for (const [place, why] of [
    [join(folder, 'missing.json'), 'cannot be read'],
    [`${address}/v1/models`, 'it answered 401'],
    [join(root, 'package.json'), 'is not a key set'],
  ] as const) {
    const { code, errors } = await run(nowhere, 'verify', receipt, '--jwks', place)
    expect(code).toBe(1)
    expect(errors).toContain(why)
  }
  expect((await run(nowhere, 'verify', receipt)).code).toBe(2)
  await listening.stop(true)
  await server.stop()
})

test('a receipt is proved to be in the log, which goes on from the end that was kept', async () => {
  let ahead = 0
  const server = await startTestServer({ now: () => Date.now() + ahead })
  const listening = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: server.fetch })
  const address = `http://127.0.0.1:${listening.port}`
  const grow = () => growLog({ receipts: server.store.log, keys: server.gateway.receipts?.keys })
  const kept = join(folder, 'head')
  const body = { model: 'mock/small', messages: [{ role: 'user', content: 'hi' }] }
  await grow()
  const answer = await server.post('/v1/chat/completions', body)
  const receipt = answer.headers.get('x-receipt') ?? ''
  const at = ['verify', receipt, '--jwks', `${address}/.well-known/jwks.json`, '--log', address]
  const checked = async () => {
    const { code, out, errors } = await run(nowhere, ...at, '--head', kept, '--json')
    return [code, out === '' ? errors : JSON.parse(out).log]
  }
  expect(await checked()).toEqual([0, { sound: true, said: 'the log does not have the receipt yet' }])
  ahead = 360_000
  await grow()
  expect(await checked()).toEqual([0, { sound: true, said: 'entry 0 of the log' }])
  const head = readFileSync(kept, 'utf8')
  // An end that was signed for a log of more entries, or for another one, is not gone on from.
  const signer = server.gateway.receipts?.keys.signer()
  const end = await server.store.log.end()
  if (signer === undefined || end === undefined) throw new Error('no log')
  const signed = (size: number, root: Uint8Array) => signLogHead(signer, { ...end, size, root })
  for (const [other, said] of [
    [signed(2, end.root), 'the log was cut: it had 2 entries, and has 1'],
    [signed(1, leafHash('forked')), 'the log was rewritten or forked before entry 1'],
  ] as const) {
    writeFileSync(kept, other)
    expect(await checked()).toEqual([1, { sound: false, said }])
  }
  writeFileSync(kept, 'nonsense')
  expect(await checked()).toEqual([1, expect.stringContaining('has no end of a log')])
  writeFileSync(kept, head)
  expect(await checked()).toEqual([0, { sound: true, said: 'entry 0 of the log' }])
  await listening.stop(true)
  await server.stop()
})

test('rotate adds a key that signs later, or now; revoke removes one; a running server follows', async () => {
  const settings = {
    DATABASE_URL: `sqlite:${join(folder, `${crypto.randomUUID()}.db`)}`,
    TURNPIKE_SECRET: 'a secret of sixteen and more',
  }
  const { child, address } = await startProgram(folder, settings)
  const resultOf = async (...args: string[]) => {
    const { code, out, errors } = await run(settings, ...args, '--json')
    expect([code, errors]).toEqual([0, ''])
    return JSON.parse(out)
  }
  const kids = async (): Promise<string[]> => {
    const { keys } = await jsonOf(await fetch(`${address}/.well-known/jwks.json`))
    return keys.map(({ kid }: { kid: string }) => kid)
  }
  const [first = ''] = await kids()
  const before = Date.now()
  const later = await resultOf('rotate')
  expect(Date.parse(later.signs_from) - before).toBeGreaterThan(595_000)
  const atOnce = await resultOf('rotate', '--now')
  expect(Date.parse(atOnce.signs_from) - before).toBeLessThan(60_000)
  const listed = await resultOf('keys')
  expect(listed.map(({ kid }: { kid: string }) => kid)).toEqual([first, later.kid, atOnce.kid])
  expect((await run(settings, 'revoke', first)).code).toBe(0)
  const again = await run(settings, 'revoke', first)
  expect([again.code, again.errors]).toEqual([
    1,
    `turnpike: there is no receipt key '${first}'; 'turnpike receipt keys' shows them\n`,
  ])
  await until(async () => !(await kids()).includes(first), 200)
  expect(await kids()).toEqual([later.kid, atOnce.kid])
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
})

/** The public half of a new key with this prefix; one in 64 begins with a dash. */
const publicKeyNamed = (start: string): { readonly kid: string; readonly x: string } => {
  for (;;) {
    const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    const kid = thumbprintOf(x)
    if (kid.startsWith(start)) return { kid, x }
  }
}

test('a key whose name begins with a dash is revoked as any other', async () => {
  const url = `sqlite:${join(folder, `${crypto.randomUUID()}.db`)}`
  const store = await openStore({ url })
  const kept = publicKeyNamed('')
  const dashed = publicKeyNamed('-')
  for (const [at, { kid, x }] of [kept, dashed].entries())
    await store.receipts.addReceiptKey({ number: at + 1, kid, publicKey: x, sealed: 'sealed' }, 0, byTest)
  await store.close()

  const settings = { DATABASE_URL: url, TURNPIKE_SECRET: 'a secret of sixteen and more' }
  const { code, out, errors } = await run(settings, 'revoke', dashed.kid)
  expect([code, errors]).toEqual([0, ''])
  expect(out).toStartWith(`${dashed.kid} is removed`)
  const { out: left } = await run(settings, 'keys', '--json')
  expect(JSON.parse(left).map(({ kid }: { kid: string }) => kid)).toEqual([kept.kid])
})

/** Machines over HTTP: what their credentials may do, from where, how often and for how long. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { performAs } from '../../src/cli/run/control.ts'
import { machineList, machineRevoke, machineRotate } from '../../src/control/machines.ts'
import { readBlock } from '../../src/core/address.ts'
import { createLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import { byTest } from '../by-test.ts'
import { openView } from '../chaos/view.ts'
import { chat, hashOf, jsonOf, startTestServer, type TestServer } from '../server/harness.ts'
import { engines } from '../store/engines.ts'
import { adminOf, machineOf } from './machine-rig.ts'

/** The status, and what the refusal says. */
const saidBy = async (response: Response): Promise<readonly [number, string, string]> => {
  const { error } = await jsonOf(response)
  return [response.status, error.code, error.message]
}

// In memory each server has a ledger of its own, and nobody else can look into it.
for (const engine of engines.filter(({ lasting }) => lasting))
  describe(`machines on ${engine.name}`, () => {
    let database: Awaited<ReturnType<typeof engine.fresh>>
    let server: TestServer
    let now = Date.UTC(2026, 10, 25, 12)
    const lines: string[] = []
    const start = (hash = hashOf('test-secret')) =>
      startTestServer({
        log: createLog(
          'call',
          () => now,
          (line) => lines.push(line),
        ),
        url: database.url,
        hash,
        now: () => now,
        clock: { ...systemClock, now: () => now },
        options: { trustedProxies: [readBlock('10.1.0.0/16')].filter((one) => one !== undefined) },
      })
    beforeAll(async () => {
      database = await engine.fresh()
      server = await start()
      await server.store.wallets.createWallet({ id: 'wal_other', orgId: 'org_other', name: 'other' }, byTest)
    })
    afterAll(async () => {
      await server.stop()
      await database.stop()
    })
    const keyIn = async (orgId = 'org_test', walletId = server.wallet) =>
      (await server.newKey({}, { orgId, walletId })).id

    test('what is of the whole house is hidden from a machine of some organisations', async () => {
      const ofSome = await machineOf(server, { organisations: ['org_test'] })
      const whole = await machineOf(server)
      const payer = `0x${'1'.repeat(40)}`
      for (const path of ['/payers', `/payers/${payer}`, '/system', '/vendors', '/setup']) {
        const [status, code, message] = await saidBy(await ofSome.ask('GET', path))
        expect([path, status, code]).toEqual([path, 404, 'not_found'])
        expect(message).toStartWith('This is of the whole house')
        expect((await whole.ask('GET', path)).status).toBe(200)
      }
    })

    test('one that a command made does what it has the right to, and nothing else', async () => {
      const { ask, id } = await machineOf(server, { rights: ['keys', 'read'] })
      const made = await ask('POST', '/keys', {
        label: 'k',
        wallet: server.wallet,
        spend_cap_usd: '0.000000001',
      })
      expect([made.status, (await jsonOf(made)).spend_cap_usd]).toEqual([201, '0.000000001'])
      expect((await ask('GET', '/keys?limit=1')).status).toBe(200)
      expect(await saidBy(await ask('GET', '/machines'))).toEqual([
        403,
        'forbidden',
        'The machine may not do this: it needs the right machines, and has keys, read.',
      ])
      const tenants = { organisation: 'org_test', tenants: [{ label: 't' }] }
      expect((await ask('POST', '/tenants', tenants)).status).toBe(403)
      const [event] = await server.store.events.list({ orgId: 'org_test', most: 1 })
      expect(event?.actor).toMatchObject({ kind: 'machine', id, name: 'pipeline' })
    })

    test('rights to its own reach what it made, and no key of others', async () => {
      const { ask } = await machineOf(server, { rights: ['keys_own', 'read_own'] })
      const others = await keyIn()
      const statuses = await Promise.all([
        ask('GET', `/keys/${others}`),
        ask('GET', `/keys/${others}/usage`),
        ask('PATCH', `/keys/${others}`, { label: 'mine' }),
        ask('POST', `/keys/${others}/rotate`),
        ask('DELETE', `/keys/${others}`),
      ])
      expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404])
      expect((await jsonOf(await ask('GET', '/keys'))).data).toEqual([])
      const own = await jsonOf(await ask('POST', '/keys', { label: 'own', wallet: server.wallet }))
      expect((await ask('PATCH', `/keys/${own.id}`, { label: 'mine' })).status).toBe(200)
      expect((await jsonOf(await ask('GET', '/keys'))).data.map((key: { id: string }) => key.id)).toEqual([
        own.id,
      ])
    })

    test('one of an organisation reaches that one alone', async () => {
      const { ask } = await machineOf(server, { organisations: ['org_test'] })
      const [own, foreign] = [await keyIn(), await keyIn('org_other', 'wal_other')]
      expect((await ask('GET', `/keys/${own}`)).status).toBe(200)
      for (const answer of [
        ask('GET', `/keys/${foreign}`),
        ask('PATCH', `/keys/${foreign}`, { label: 'x' }),
        ask('PUT', `/keys/${foreign}`, { label: 'x' }),
        ask('POST', '/keys', { label: 'x', wallet: 'wal_other' }),
        ask('POST', '/tenants', { organisation: 'org_other', tenants: [{ label: 't' }] }),
      ])
        expect((await answer).status).toBe(404)
      const { data } = await jsonOf(await ask('GET', '/keys?organisation=org_other'))
      expect(data).toEqual([])
    })

    test('one that may make machines gives, rotates, revokes and sees no more than it may do itself', async () => {
      const strong = await machineOf(server)
      const weak = await machineOf(server, { rights: ['machines', 'keys'], organisations: ['org_test'] })
      const wanted = { label: 'm', rights: ['keys'] }
      expect((await weak.ask('POST', '/machines', wanted)).status).toBe(201)
      expect((await weak.ask('POST', '/machines', { ...wanted, rights: ['tenants'] })).status).toBe(403)
      const elsewhere = { ...wanted, organisations: ['org_other'] }
      expect((await weak.ask('POST', '/machines', elsewhere)).status).toBe(404)
      expect((await weak.ask('POST', `/machines/${strong.id}/rotate`)).status).toBe(404)
      expect((await weak.ask('DELETE', `/machines/${strong.id}`)).status).toBe(404)
      const { data } = await jsonOf(await weak.ask('GET', '/machines'))
      expect(data.map((one: { id: string }) => one.id)).not.toContain(strong.id)
      expect((await strong.ask('POST', `/machines/${weak.id}/rotate`)).status).toBe(201)
    })

    test('one with bounds makes none that has fewer, and gets no credential of one', async () => {
      const free = await machineOf(server, { rights: ['keys'] })
      const until = new Date(now + 60_000).toISOString()
      const bounds = { expires_at: until, addresses: ['192.0.2.0/24', '2001:db8::/32'], rpm_limit: 50 }
      const { ask: asked } = await machineOf(server, bounds)
      const ask = (method: string, path: string, body?: object) =>
        asked(method, path, body, { peer: '192.0.2.7' })
      const wanted = { label: 'm', rights: ['keys'] }
      const made = await jsonOf(await ask('POST', '/machines', wanted))
      expect(made).toMatchObject(bounds)
      const narrower = {
        expires_at: new Date(now + 30_000).toISOString(),
        addresses: ['192.0.2.128/25', '2001:db8::7'],
        rpm_limit: 49,
      }
      expect(await jsonOf(await ask('POST', '/machines', { ...wanted, ...narrower }))).toMatchObject(narrower)
      for (const wider of [
        { expires_at: new Date(now + 60_001).toISOString() },
        { addresses: ['192.0.2.0/24', '198.51.100.7'] },
        { addresses: ['192.0.0.0/16'] },
        { addresses: ['2001:db8::/31'] },
        { rpm_limit: 51 },
      ]) {
        const [status, code, message] = await saidBy(await ask('POST', '/machines', { ...wanted, ...wider }))
        expect([wider, status, code]).toEqual([wider, 403, 'forbidden'])
        expect(message).toContain(Object.keys(wider)[0] ?? '')
      }
      for (const [method, path] of [
        ['POST', `/machines/${free.id}/rotate`],
        ['DELETE', `/machines/${free.id}`],
      ] as const)
        expect((await ask(method, path)).status).toBe(404)
      expect((await ask('POST', `/machines/${made.id}/rotate`)).status).toBe(201)
    })

    test('organisations that it is for must be there', async () => {
      const { ask } = await machineOf(server)
      const wanted = { label: 'm', rights: ['keys'], organisations: ['org_test', 'org_tset'] }
      expect(await saidBy(await ask('POST', '/machines', wanted))).toEqual([
        400,
        'invalid_parameter',
        "'organisations.1' ('org_tset') is no organisation.",
      ])
    })

    test('it ends when it expires', async () => {
      const { ask } = await machineOf(server, { expires_at: new Date(now + 1_000).toISOString() })
      expect((await ask('GET', '/keys')).status).toBe(200)
      now += 1_000
      expect(await saidBy(await ask('GET', '/keys'))).toEqual([
        401,
        'invalid_api_key',
        `The credential expired on ${new Date(now).toISOString()}; make another one.`,
      ])
    })

    test('it comes from its addresses only, as a trusted proxy tells them', async () => {
      const { ask } = await machineOf(server, { addresses: ['192.0.2.0/24', '2001:db8::/32'] })
      const from = async (peer: string | undefined, forwarded?: string) =>
        (
          await ask('GET', '/keys', undefined, {
            ...(peer === undefined ? {} : { peer }),
            ...(forwarded === undefined ? {} : { headers: { 'x-forwarded-for': forwarded } }),
          })
        ).status
      expect(await from('192.0.2.7')).toBe(200)
      expect(await from('2001:db8::5')).toBe(200)
      expect(await from('198.51.100.7')).toBe(403)
      expect(await from(undefined)).toBe(403)
      expect(await from('10.1.0.9', '192.0.2.7')).toBe(200)
      expect(await from('10.1.0.9', '198.51.100.7')).toBe(403)
      // What a caller says of itself counts for nothing.
      expect(await from('198.51.100.7', '192.0.2.7')).toBe(403)
      expect(await from('10.1.0.9', '192.0.2.7, 198.51.100.7')).toBe(403)
    })

    test('its requests count at its rate, refused ones too, and leave no event beyond it', async () => {
      const { ask, id } = await machineOf(server, { rpm_limit: 2 })
      const headers = (response: Response) =>
        ['limit', 'remaining'].map((name) => response.headers.get(`x-ratelimit-${name}`))
      const first = await ask('GET', '/keys')
      expect([first.status, ...headers(first)]).toEqual([200, '2', '1'])
      expect((await ask('GET', '/keys/nothing')).status).toBe(404)
      const third = await ask('POST', '/keys', { label: 'x', wallet: server.wallet })
      expect([third.status, ...headers(third)]).toEqual([429, '2', '0'])
      expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0)
      const events = await server.store.events.list({ most: 500 })
      expect(events.filter(({ actor }) => actor.id === id).map(({ what }) => what)).toEqual(['key.list'])
    })

    test('rotated, its credential before is refused at once; revoked, each is', async () => {
      const { ask, id } = await machineOf(server)
      const rotated = await performAs('machine rotate', server.gateway, machineRotate, { machine: id })
      expect((await ask('GET', '/keys')).status).toBe(401)
      const next = adminOf(server, rotated.credential)
      expect((await next('GET', '/keys')).status).toBe(200)
      await performAs('machine revoke', server.gateway, machineRevoke, { machine: id })
      expect(await saidBy(await next('GET', '/keys'))).toEqual([
        401,
        'invalid_api_key',
        'The credential of the machine is unknown or was revoked.',
      ])
      expect(performAs('machine rotate', server.gateway, machineRotate, { machine: id })).rejects.toThrow()
      const { data } = await performAs('machine list', server.gateway, machineList, {})
      expect(data.find((one) => one.id === id)).toMatchObject({ revoked: true, version: 3 })
    })

    test('its credential calls no model, and a key is no machine; each is told what it needs', async () => {
      const { credential } = await machineOf(server)
      for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/key/wholesale'])
        expect((await server.post(path, chat(), {}, credential)).status).toBe(401)
      expect((await server.get('/v1/key/wholesale', credential)).status).toBe(401)
      const { token } = await server.newKey()
      expect(await saidBy(await adminOf(server, token)('GET', '/keys'))).toEqual([
        401,
        'invalid_api_key',
        'This address is for machines of the operator: send a credential that begins with tm-, from turnpike machine create.',
      ])
      const none = await adminOf(server, '')('GET', '/keys')
      expect(await saidBy(none)).toEqual([
        401,
        'missing_authorization',
        "Send the credential of a machine in the header 'Authorization: Bearer tm-…'; turnpike machine create makes one.",
      ])
    })

    test('its credential stands nowhere: not in the ledger, not in the log', async () => {
      const { ask, id, credential } = await machineOf(server)
      const made = await jsonOf(await ask('POST', '/machines', { label: 'm', rights: ['keys'] }))
      const rotated = await jsonOf(await ask('POST', `/machines/${made.id}/rotate`))
      await ask('PUT', '/keys/no id', { label: credential.length })
      await adminOf(server, `${credential}x`)('GET', '/keys')
      await ask('GET', '/machines')
      const view = openView(database.url)
      const tables = await view.rows(
        database.url.startsWith('sqlite')
          ? "select name from sqlite_master where type = 'table'"
          : "select tablename as name from pg_tables where schemaname = 'public'",
      )
      const kept: string[] = []
      for (const { name } of tables) kept.push(JSON.stringify(await view.rows(`select * from ${name}`)))
      await view.close()
      expect(kept.join()).toContain(id)
      expect(lines.join()).not.toBe('')
      for (const secret of [credential, made.credential, rotated.credential]) {
        expect(kept.join()).not.toContain(secret.slice(3))
        expect(lines.join()).not.toContain(secret.slice(3))
      }
    })

    test('it works while the secret of the server changes, and after', async () => {
      const { credential, id } = await machineOf(server)
      const [old, present] = [hashOf('test-secret'), hashOf('next', hashOf('test-secret'))]
      expect(await server.store.machines.byHash(old(credential))).toMatchObject({ id })
      const moved = await start(present)
      expect((await adminOf(moved, credential)('GET', '/keys')).status).toBe(200)
      await moved.stop()
      const after = await start(hashOf('next'))
      expect((await adminOf(after, credential)('GET', '/keys')).status).toBe(200)
      await after.stop()
    })
  })

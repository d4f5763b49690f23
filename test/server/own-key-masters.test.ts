/** What wraps data keys: a secret, AWS KMS, Vault; one that is away; and a change of one for another while calls run. */
import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/core/time.ts'
import { type OwnKeySettings, ownKeySettings } from '../../src/settings/own-keys.ts'
import { readSettings } from '../../src/settings/setting.ts'
import { newOwnKeyRing } from '../../src/transport/own-key-ring.ts'
import { byTest } from '../by-test.ts'
import { chat, completion, hashOf, jsonOf, mockSetup, startTestServer, testModel, USD } from './harness.ts'
import { AWS, KMS_KEY, playKms, playVault, VAULT_TOKEN } from './key-services.ts'

const OWN = 'sk-own-0123456789abcdef-tail'
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const services = () => {
  const [kms, vault] = [playKms(), playVault()]
  ends.push(kms.stop, vault.stop)
  const both = {
    OWN_KEYS_KMS_KEY: KMS_KEY,
    AWS_ENDPOINT_URL_KMS: `${kms.url}/`,
    AWS_ACCESS_KEY_ID: AWS.id,
    AWS_SECRET_ACCESS_KEY: AWS.secret,
    VAULT_ADDR: vault.url,
    VAULT_TOKEN,
    OWN_KEYS_VAULT_KEY: 'turnpike',
  }
  const settings = (more: Readonly<Record<string, string>>): OwnKeySettings =>
    readSettings(ownKeySettings, { ...both, ...more })
  return { kms, vault, settings }
}

/** A server that forgets at once what it unwrapped, unless it is told otherwise. */
const start = async (ownKeys: OwnKeySettings) => {
  const it = await startTestServer({
    options: { ownKeys },
    models: [testModel('small'), testModel('small', { id: 'second/small', vendor: 'second' })],
    more: [mockSetup({ id: 'second' }, async () => completion('from the second'))],
  })
  ends.push(it.stop)
  it.answerWith(({ url }) =>
    url.endsWith('/models') ? new Response('', { status: 404 }) : completion('hello'),
  )
  const added = await it.send('POST', '/v1/own-keys', { vendor: 'mock', value: OWN, untested: true })
  return { it, added, ask: (model = 'mock/small') => it.post('/v1/chat/completions', chat({ model })) }
}

const forgetful = (settings: OwnKeySettings): OwnKeySettings => ({ ...settings, openMs: 0 })

test.each(['aws-kms', 'vault'] as const)(
  '%s wraps a data key; while it is away only these calls are refused',
  async (master) => {
    const { kms, vault, settings } = services()
    const service = master === 'vault' ? vault : kms
    const { it, added, ask } = await start(forgetful(settings({ OWN_KEYS_MASTER: master })))
    expect([added.status, (await ask()).headers.get('x-vendor-key')]).toEqual([201, 'own'])
    const stored = await it.store.ownKeys.dataKey('org_test')
    expect(stored?.master).toBe(master === 'vault' ? 'vault:turnpike' : `aws-kms:${KMS_KEY}`)
    service.away = true
    const refused = await ask()
    const { error } = await jsonOf(refused)
    expect([refused.status, error.code, refused.headers.get('retry-after')]).toEqual([
      503,
      'own_keys_unavailable',
      '10',
    ])
    expect((await ask('second/small')).status).toBe(200)
    const wallet = `wal_${crypto.randomUUID()}`
    await it.store.wallets.createWallet({ id: wallet, orgId: 'org_other', name: 'other' }, byTest)
    await it.store.ledger.post({ kind: 'topup', ref: wallet, debit: 'cash', credit: wallet, amount: USD })
    const { token } = await it.newKey({}, { orgId: 'org_other', walletId: wallet })
    expect((await it.post('/v1/chat/completions', chat(), {}, token)).status).toBe(200)
    service.away = false
    expect((await ask()).headers.get('x-vendor-key')).toBe('own')
    expect(service.wrong).toEqual([])
    // What one organisation's data key was wrapped as opens for no other.
    await it.store.ownKeys.firstDataKey({
      orgId: 'org_other',
      master: stored!.master,
      wrapped: stored!.wrapped,
    })
    await expect(
      it.gateway.ownKeys.seal('org_other', { id: 'vk_x', vendor: 'mock' }, OWN),
    ).rejects.toMatchObject({
      code: 'own_keys_unavailable',
    })
  },
)

test('what was opened serves for its time while the service is away, and no longer', async () => {
  const { kms, settings } = services()
  const set = settings({ OWN_KEYS_MASTER: 'aws-kms', OWN_KEYS_OPEN_SECONDS: '60' })
  let lateMs = 0
  const clock = { monotonicMs: () => systemClock.monotonicMs() + lateMs }
  const { it } = await start(set)
  const [row] = await it.store.ownKeys.sealed('org_test', 'mock')
  const ring = newOwnKeyRing({ store: it.store.ownKeys, hash: hashOf('test-secret'), clock, settings: set })
  expect((await ring.open('org_test', row!)).reveal()).toBe(OWN)
  kms.away = true
  expect((await ring.open('org_test', row!)).reveal()).toBe(OWN)
  lateMs = 60_001
  await expect(ring.open('org_test', row!)).rejects.toMatchObject({ code: 'own_keys_unavailable' })
  // A server's calls go on with what it opened.
  expect((await it.post('/v1/chat/completions', chat())).headers.get('x-vendor-key')).toBe('own')
})

test.each([
  ['secret', 'aws-kms'],
  ['aws-kms', 'vault'],
  ['vault', 'secret'],
])(
  'from %s to %s while calls run: none is lost, and what is not wrapped anew yet is readable',
  async (from, to) => {
    const { settings } = services()
    const { it, ask } = await start(forgetful(settings({ OWN_KEYS_MASTER: from })))
    const [store, hash, clock] = [it.store.ownKeys, hashOf('test-secret'), systemClock]
    const next = newOwnKeyRing({ store, hash, clock, settings: settings({ OWN_KEYS_MASTER: to }) })
    const [row] = await store.sealed('org_test', 'mock')
    expect((await next.open('org_test', row!)).reveal()).toBe(OWN)
    expect(await next.otherwise()).toBe(1)
    const calls = Array.from({ length: 30 }, async () => (await ask()).status)
    const wrapped = await next.wrapAnew()
    expect([...new Set(await Promise.all(calls))]).toEqual([200])
    expect([wrapped, await next.otherwise()]).toEqual([{ wrapped: 1, left: 0 }, 0])
    expect((await ask()).headers.get('x-vendor-key')).toBe('own')
    expect((await store.dataKey('org_test'))?.master).toStartWith(`${to}:`)
  },
)

test('under another secret nothing opens, and what neither opens is counted', async () => {
  const { settings } = services()
  const { it } = await start(settings({ OWN_KEYS_SECRET: 'a secret of data keys' }))
  const [row] = await it.store.ownKeys.sealed('org_test', 'mock')
  const other = newOwnKeyRing({
    ...{ store: it.store.ownKeys, hash: hashOf('test-secret'), clock: systemClock },
    settings: settings({ OWN_KEYS_SECRET: 'another secret of data keys' }),
  })
  await expect(other.open('org_test', row!)).rejects.toMatchObject({ code: 'own_keys_unavailable' })
  expect(await other.wrapAnew()).toEqual({ wrapped: 0, left: 1 })
})

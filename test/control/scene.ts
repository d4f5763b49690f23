/** A house with an actor of each kind, and fresh things for acts to be about. */
import type { JsonObject } from '../../src/core/json-body.ts'
import type { ConfigControl } from '../../src/gateway/parts/gateway.ts'
import type { Event } from '../../src/store/people/event-port.ts'
import type { Role } from '../../src/store/people/people-port.ts'
import { byTest } from '../by-test.ts'
import { ensurePerson, ORIGIN, somebody, startConsoleOn } from '../console/rig.ts'
import { chat } from '../server/harness.ts'
import { startFakeStripe } from '../server/stripe-fake.ts'
import type { TestEngine } from '../store/engines.ts'
import { type Ask, byCommandOf, overHttp } from './faces.ts'
import { machineOf } from './machine-rig.ts'

export type TestActor = {
  readonly name: string
  readonly kind: 'key' | 'person' | 'machine' | 'command'
  readonly id: string
  /** What it may reach, of those who may do everything there; lesser actors have none. */
  readonly reach?: 'key' | 'organisation' | 'house'
  readonly operator?: true
  /** With what its changes are refused, of lesser actors. */
  readonly codes?: readonly string[]
  readonly ask: Ask
}

export type Scene = Awaited<ReturnType<typeof startScene>>

/** Keys of vendors that were added, of whatever vendor. */
const added = new Set<string>()

/** A configuration that is good, and changes the markup when it is read again. */
const config: ConfigControl = {
  status: () => ({ version: 'v', appliedAt: Date.now(), reloads: 0, needsRestart: [] }),
  ask: async (action) => {
    const outcome = action === 'apply' ? 'applied' : 'checked'
    const reloaded = { outcome, errors: [], changes: ['markup 1 → 2'], needsRestart: [] } as const
    return [{ process: 'one', status: config.status(), ...(action === 'status' ? {} : { reloaded }) }]
  },
  settings: {},
  keys: {
    offSetup: () => undefined,
    added: () => [...added].map((key) => key.slice(-4)),
    add: (_, key) => void added.add(key),
    remove: (_, end) => [...added].filter((key) => key.endsWith(end) && added.delete(key)),
  },
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const FAR = '203.0.113.9'

export const startScene = async (engine: TestEngine, setup: { readonly ledgerFails?: boolean } = {}) => {
  const stripe = startFakeStripe()
  const it = await startConsoleOn(engine, {
    ...setup,
    config,
    settings: { signUp: 'invite' },
    stripe: stripe.settings,
  })
  const { store, wallet } = it
  await store.wallets.createWallet({ id: 'wal_other', orgId: 'org_other', name: 'other' }, byTest)
  const foreign = (await it.newKey({}, { orgId: 'org_other', walletId: 'wal_other' })).id
  const root = await it.newKey({}, { canManage: true })
  const key = async (name: string, more: object, rest: Partial<TestActor>): Promise<TestActor> => {
    const { id, token } = name === 'root' ? root : await it.newKey({}, more)
    return { name: `key: ${name}`, kind: 'key', id, ask: overHttp(it, 'key', bearer(token)), ...rest }
  }
  const person = async (name: string, role: Role, orgId: string, rest: Partial<TestActor>) => {
    const { cookie, personId, ask } = await it.visit(somebody(), role, orgId, rest.operator === true)
    if (rest.operator === true) {
      const chosen = await ask('PUT', '/session/organisation', { org_id: 'org_test' })
      if (!chosen.ok) throw new Error(await chosen.text())
    }
    const headers = { cookie, origin: ORIGIN, host: 'turnpike.test' }
    return {
      name: `person: ${name}`,
      kind: 'person',
      id: personId,
      ask: overHttp(it, rest.operator === true ? 'operator' : 'person', headers),
      ...rest,
    } as const
  }
  const machine = async (name: string, wanted: JsonObject, rest: Partial<TestActor>) => {
    const { id, credential } = await machineOf(it, wanted)
    return {
      name: `machine: ${name}`,
      kind: 'machine',
      id,
      ask: overHttp(it, 'machine', bearer(credential), FAR),
      ...rest,
    } as const
  }
  const ofTest = { organisations: ['org_test'] }
  const hidden = { codes: ['not_found'] }
  const forbidden = { codes: ['forbidden'] }
  const sub = { id: 'sub_law', walletId: wallet, label: 'law', budget: 1_000_000_000n }
  await store.subWallets.createSubWallet(sub, byTest)
  const actors: readonly TestActor[] = [
    await key('root', {}, { reach: 'key' }),
    await person('owner', 'owner', 'org_test', { reach: 'organisation' }),
    await person('admin', 'admin', 'org_test', { reach: 'organisation' }),
    await person('operator acting for', 'owner', 'org_other', { reach: 'organisation', operator: true }),
    await machine('of the organisation', ofTest, { reach: 'organisation' }),
    await machine('of the house', {}, { reach: 'house' }),
    { name: 'command', kind: 'command', id: 'law', reach: 'house', ask: byCommandOf(it) },
    await key('child', { parentId: root.id }, { codes: ['forbidden', 'not_found'] }),
    await key('bound', { subWallet: sub.id, canManage: true }, { codes: ['forbidden', 'not_found'] }),
    await key(
      'trial',
      { trialUntil: Date.now() + 9e9, canManage: true },
      { codes: ['forbidden', 'not_found'] },
    ),
    await key('disabled', { canManage: true }, { codes: ['key_disabled', 'not_found'] }),
    await person('billing', 'billing', 'org_test', forbidden),
    await person('viewer', 'viewer', 'org_test', forbidden),
    await person('developer', 'developer', 'org_test', { codes: ['forbidden', 'not_found'] }),
    await person('owner elsewhere', 'owner', 'org_other', hidden),
    await machine('without the right', { rights: ['play'] }, forbidden),
    await machine('elsewhere', { organisations: ['org_other'] }, hidden),
    await machine('expired', { expires_at: '2020-01-01' }, { codes: ['invalid_api_key'] }),
    await machine('from elsewhere', { addresses: ['192.0.2.0/24'] }, forbidden),
    await machine('revoked', {}, { codes: ['invalid_api_key'] }),
  ]
  const named = (name: string) => actors.find((one) => one.name === name)?.id ?? ''
  await store.keys.changeKey(named('key: disabled'), { disabledReason: 'operator', byCreator: true }, byTest)
  await store.machines.revoke(named('machine: revoked'), byTest)
  const caller = await it.newKey({}, { parentId: root.id })
  const answer = await it.post('/v1/chat/completions', chat(), {}, caller.token)
  const call = answer.headers.get('x-request-id') ?? ''
  const receipt = answer.headers.get('x-receipt') ?? ''
  await answer.text()
  /** A call that a key below the root made. */
  const called = { id: call, key: caller.id, receipt }
  const child = async () => (await it.newKey({}, { parentId: root.id })).id
  /** Somebody new who belongs to the organisation. */
  const member = async () => {
    const made = await ensurePerson(store.people, { email: somebody(), name: 'Law', now: Date.now() })
    await store.members.put({ orgId: 'org_test', personId: made.id, role: 'viewer' }, byTest)
    return made.id
  }
  let last = ''
  /** The events since it was asked before. */
  const news = async (): Promise<readonly Event[]> => {
    const all = await store.events.list({ most: 50 })
    const until = all.findIndex(({ id }) => id === last)
    last = all[0]?.id ?? ''
    return until < 0 ? all : all.slice(0, until)
  }
  const stop = async () => {
    await it.stop()
    await stripe.stop()
  }
  return { it, actors, root: root.id, foreign, called, child, member, news, stop }
}

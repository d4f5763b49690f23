/** Inputs of acts: a valid one about fresh things, and what is near to it. */
import fc from 'fast-check'
import type { AnyAct } from '../../src/control/act.ts'
import { membersOf } from '../../src/control/face.ts'
import type { Json, JsonObject } from '../../src/core/json-body.ts'
import { byTest } from '../by-test.ts'
import { begunBatch } from '../console/begun-batch.ts'
import { somebody } from '../console/rig.ts'
import { seed } from '../seed.ts'
import { rowsOfFaces } from './faces.ts'
import { machineOf } from './machine-rig.ts'
import type { Scene } from './scene.ts'

const organisation = 'org_test'
/** A payment method counts from when it was saved: each later than the one before. */
let savedAt = Date.now()
type Example = (scene: Scene) => Promise<JsonObject>

const ofKey =
  (more: JsonObject = {}): Example =>
  async ({ child }) => ({ key: await child(), ...more })
const ofTenant =
  (more: JsonObject = {}): Example =>
  async ({ child }) => ({ organisation, tenant: await child(), ...more })
const ofMachine: Example = async ({ it }) => ({
  machine: (await machineOf(it, { rights: ['keys'], organisations: [organisation] })).id,
})

const ofCall: Example = async ({ called }) => ({ call: called.id })
const ofOrg =
  (more: JsonObject = {}): Example =>
  async () => ({ organisation, ...more })
const ofPerson =
  (more: JsonObject = {}): Example =>
  async ({ member }) => ({ person: await member(), ...more })
const ofMember =
  (more: JsonObject = {}): Example =>
  async ({ member }) => ({ organisation, person: await member(), ...more })
/** Money that moves each time: a reference names it once. */
const moved =
  (more: JsonObject = {}): Example =>
  async ({ it }) => ({
    organisation,
    wallet: it.wallet,
    amount_usd: '0.000000001',
    ref: crypto.randomUUID(),
    ...more,
  })
const subWallet =
  (more: JsonObject = {}): Example =>
  async ({ it }) => {
    const sub = { id: `sub_${crypto.randomUUID()}`, walletId: it.wallet, label: 'law', budget: 1_000n }
    await it.store.subWallets.createSubWallet(sub, byTest)
    return { organisation, sub_wallet: sub.id, ...more }
  }

const withoutOwnKeys = async ({ it: { store } }: Scene): Promise<void> => {
  for (const { id } of await store.ownKeys.list(organisation))
    await store.ownKeys.remove({ orgId: organisation, id }, byTest)
}
const ownKey =
  (more: JsonObject = {}): Example =>
  async (scene) => {
    const { store, gateway } = scene.it
    await withoutOwnKeys(scene)
    const row = { id: `vk_${crypto.randomUUID()}`, orgId: organisation, vendor: 'mock', lastFour: 'last' }
    const sealed = await gateway.ownKeys.seal(organisation, row, 'sk-law-of-this-key')
    await store.ownKeys.add({ ...row, sealed }, byTest)
    return { organisation, own_key: row.id, ...more }
  }

const budget =
  (more: JsonObject = {}): Example =>
  async ({ it }) => {
    const tag = { tag: 'law', value: crypto.randomUUID() }
    const caps = { monthlyCap: 1_000n }
    await it.store.tagBudgets.putTagBudget(
      { id: `bud_${tag.value}`, walletId: it.wallet, caps, ...tag },
      byTest,
    )
    return { organisation, ...tag, ...more }
  }

const ofTeam =
  (more: JsonObject = {}): Example =>
  async ({ it }) => {
    const id = `sub_${crypto.randomUUID()}`
    const made = { id, orgId: organisation, walletId: it.wallet, label: 'law', budget: 1_000n }
    await it.store.teams.createTeam(made, byTest)
    return { organisation, team: id, ...more }
  }
const ofTeamMember =
  (more: JsonObject = {}): Example =>
  async (scene) => {
    const named = await ofTeam()(scene)
    const [teamId, personId] = [String(named.team), await scene.member()]
    const member = { orgId: organisation, teamId, personId, role: 'member' } as const
    await scene.it.store.teams.putTeamMember(member, byTest)
    return { ...named, person: personId, ...more }
  }

const openedIn = async ({ it: { store, wallet } }: Scene): Promise<string> => {
  const id = `chk_${crypto.randomUUID()}`
  await store.funding.openCheckout({ id, walletId: wallet, amount: 5_000_000_000n }, byTest)
  return id
}

const party = { name: 'Law Ltd', address: '1 Main St' }
const biller = { ...party, currency: 'EUR', usd_rate: '0.92', terms_days: 14, taxes: [], prefix: 'L-' }
const ofBill =
  (more: JsonObject = {}): Example =>
  async ({ it: { store }, child }) => {
    await store.bills.putBiller(organisation, biller, undefined, byTest)
    const sums = { lines: [], net: '1.00', taxes: [], total: '1.00' }
    const document = { ...sums, seller: biller, buyer: party, label: 'law', reference: null }
    const closing = { orgId: organisation, tenantId: await child(), month: '2026-10', document }
    const { bill } = await store.bills.close(closing, byTest)
    return { organisation, bill: bill.id, ...more }
  }

/** A batch of a key below the root with one line, which nobody runs. */
const ofBatch: Example = async ({ it: { store, wallet }, child }) => ({
  batch: await begunBatch(store, { keyId: await child(), wallet }),
})

/** A sign-in of an agent, as if a person had approved it. */
const ofLogin: Example = async ({ it: { store }, child, member }) => {
  const id = crypto.randomUUID().replaceAll('-', '')
  const userCode = id.slice(0, 8)
  const ask = { id, deviceHash: id, userCode, surface: 'law', address: 'law', lifeMs: 60_000 }
  if (!(await store.logins.askLogin(ask))) throw new Error(`${userCode} is taken`)
  const approved = { personId: await member(), orgId: organisation, keyId: await child() }
  await store.logins.approveLogin(userCode, approved, byTest)
  await store.logins.pollLogin({ deviceHashes: [id], refreshHash: id, everyMs: 0, lifeMs: 60_000 })
  return { organisation, login: id }
}

const watched = { name: 'law', kind: 'wallet', amount_usd: '5.25', steps: [50, 100], channels: [] }
/** An alert of the organisation. */
const ofAlert =
  (more: JsonObject = {}): Example =>
  async ({ it: { store } }) => {
    const id = `alert_${crypto.randomUUID()}`
    const rule = {
      id,
      orgId: organisation,
      name: 'law',
      kind: 'wallet',
      amount: 1n,
      steps: [9],
      channels: [],
    } as const
    await store.alerts.putRule(rule, byTest)
    return { organisation, alert: id, ...more }
  }
const ofChannel: Example = async ({ it: { store } }) => {
  const id = `chan_${crypto.randomUUID()}`
  const target = 'https://hooks.example.com/law'
  await store.alerts.makeChannel({ id, orgId: organisation, name: 'law', kind: 'webhook', target }, byTest)
  return { organisation, channel: id }
}

/** By the act's name; an act without an example takes what its schema calls for no members. */
const examples: Readonly<Record<string, Example>> = {
  'key.list': async () => ({ limit: 2 }),
  'key.get': ofKey(),
  'key.usage': ofKey(),
  'key.create': async ({ root }) => ({ label: 'made', parent: root, spend_cap_usd: 1.000000001 }),
  'key.put': async ({ root }) => ({
    key: `key_${crypto.randomUUID()}`,
    label: 'put',
    parent: root,
    rpm_limit: 5,
  }),
  'key.change': ofKey({ label: 'changed', monthly_cap_usd: 2.25 }),
  'key.delete': ofKey(),
  'key.rotate': ofKey(),
  'tenant.create': async () => ({
    organisation,
    tenants: [{ label: 'tenant', limits: { spend_cap_usd: '3.5' } }],
  }),
  'tenant.margins': async () => ({ organisation, margin_percent: 5.25 }),
  'tenant.get': ofTenant(),
  'tenant.suspend': ofTenant({ suspended: true }),
  'tenant.margin': ofTenant({ margin_percent: 7 }),
  'tenant.link': ofTenant(),
  'tenant.unlink': async ({ it, child }) => {
    const [id, tenant] = [Bun.randomUUIDv7(), await child()]
    const link = { id, hash: id, orgId: organisation, tenantId: tenant, madeBy: 'law' }
    await it.store.tenants.makeLink(link, byTest)
    return { organisation, tenant, link: id }
  },
  'tenant.use': ofTenant({ month: '2026-10' }),
  'log.day': async () => ({ organisation, day: '2026-10-21' }),
  'statement.get': ofTenant({ month: '2026-10' }),
  'statement.total': async () => ({ organisation, month: '2026-10' }),
  'biller.get': ofOrg(),
  'biller.put': async () => ({ organisation, ...biller, name: crypto.randomUUID() }),
  'tenant.billing_get': ofTenant(),
  'tenant.billing': ofTenant({ ...party, email: 'ap@law.example' }),
  'bill.list': ofOrg({ month: '2026-01' }),
  'bill.get': ofBill(),
  'bill.pdf': ofBill(),
  'bill.export': ofOrg({ form: 'csv', month: '2026-01' }),
  'bill.credit': ofBill({ reason: 'wrong' }),
  'bill.paid': ofBill({ paid: true, paid_on: '2026-11-01' }),
  'usage.report': async ({ called }) => ({ key: called.key, group_by: 'key,model', sort: 'cost' }),
  'call.list': async ({ called }) => ({ key: called.key }),
  'call.latency': async ({ called }) => ({ key: called.key, by: 'key' }),
  'batch.list': async (scene) => {
    await ofBatch(scene)
    return { limit: 1 }
  },
  'batch.get': ofBatch,
  'batch.cancel': ofBatch,
  'call.get': ofCall,
  'call.receipt': ofCall,
  'call.charge': ofCall,
  'receipt.check': async ({ called }) => ({ receipt: called.receipt }),
  'receipt_key.revoke': async ({ it: { store } }) => {
    const number = ((await store.receipts.receiptKeys()).at(-1)?.number ?? 0) + 1
    const kid = `kid_${crypto.randomUUID()}`
    await store.receipts.addReceiptKey({ number, kid, publicKey: kid, sealed: kid }, 9e9, byTest)
    return { kid }
  },
  'vendor.key_add': async () => ({ vendor: 'mock', key: `${crypto.randomUUID()}-key`, untested: true }),
  'vendor.key_remove': async ({ it }) => {
    const key = `${crypto.randomUUID()}-key`
    it.gateway.config?.keys?.add('MOCK_API_KEY', key)
    return { vendor: 'mock', key: key.slice(-4) }
  },
  'tenant.margins_get': ofOrg(),
  'organisation.get': ofOrg(),
  'organisation.put': async ({ it }) => {
    await it.store.wallets.renameWallet(it.wallet, 'before', byTest)
    return { organisation, name: 'after' }
  },
  'organisation.create': async () => ({ name: 'Acme', owner_email: somebody() }),
  'organisation.suspend': async ({ it }) => ({ organisation, wallet: it.wallet, reason: null }),
  'organisation.forget': async ({ it }) => {
    const id = crypto.randomUUID()
    await it.store.wallets.createWallet({ id: `wal_${id}`, orgId: `org_${id}`, name: 'gone' }, byTest)
    return { organisation: `org_${id}` }
  },
  'wallet.fund': moved(),
  'wallet.credit': moved({ note: 'sorry' }),
  'wallet.withdraw': moved(),
  'credit.grant': async ({ it }) => ({ organisation, wallet: it.wallet, limit_usd: '5.25', net_days: 7 }),
  'wallet.get': ofOrg(),
  'checkout.open': ofOrg({ amount_usd: 25 }),
  'checkout.get': async (scene) => ({ checkout: await openedIn(scene) }),
  'card.forget': async (scene) => {
    const saved = { checkoutId: await openedIn(scene), customer: 'cus_law', method: 'pm_law', at: savedAt++ }
    await scene.it.store.funding.savePaymentMethod(saved)
    return { organisation }
  },
  'top_up.change': async ({ it: { store, wallet } }) => {
    const autoTopUp = { below: 1_000_000_000n, amount: 5_000_000_000n }
    await store.wallets.changeWalletRules(wallet, () => ({ autoTopUp }), byTest)
    return { organisation, auto_top_up: null }
  },
  'wallet.movements': ofOrg({ limit: 1 }),
  'payer.get': async () => ({ payer: `0x${'1'.repeat(40)}` }),
  'payer.list': async () => ({ payer: `0x${'1'.repeat(40)}`, limit: 1 }),
  'billing.get': ofOrg(),
  'billing.statement': async ({ it }) => {
    await it.store.credit.grantCredit({ walletId: it.wallet, limit: 1n, netDays: 1 }, byTest)
    return { organisation, month: new Date().toISOString().slice(0, 7) }
  },
  'rules.get': ofOrg(),
  'rules.change': ofOrg({ per_call_max_usd: '5.25' }),
  'budget.list': ofOrg(),
  'budget.get': budget(),
  'budget.put': ofOrg({ tag: 'team', value: 'red', monthly_cap_usd: 5.25 }),
  'budget.delete': budget(),
  'own_key.list': ofOrg(),
  'own_key.add': async (scene) => {
    await withoutOwnKeys(scene)
    return { organisation, vendor: 'mock', value: 'sk-law-0123456789', untested: true }
  },
  'own_key.change': ownKey({ enabled: false, fall_back: true }),
  'own_key.remove': ownKey(),
  'own_key.try': ownKey(),
  'sub_wallet.list': ofOrg(),
  'sub_wallet.get': subWallet(),
  'sub_wallet.create': ofOrg({ label: 'made', budget_usd: 1.5 }),
  'sub_wallet.change': subWallet({ label: 'changed' }),
  'sub_wallet.delete': subWallet(),
  'member.list': ofOrg(),
  'member.invite': async () => ({ organisation, email: somebody(), role: 'viewer' }),
  'member.change': ofMember({ role: 'billing' }),
  'member.remove': ofMember(),
  'team.list': ofOrg(),
  'team.create': ofOrg({ name: 'made', budget_usd: 1.5 }),
  'team.change': ofTeam({ budget_usd: 2.5 }),
  'team.delete': ofTeam(),
  'team.member_put': ofTeamMember({ role: 'admin' }),
  'team.member_remove': ofTeamMember(),
  'group_rule.get': ofOrg(),
  'group_rule.put': async () => ({
    organisation,
    default_role: 'viewer',
    groups: [{ group: crypto.randomUUID(), role: 'admin' }],
  }),
  'person.operator': ofPerson({ operator: false }),
  'person.link': ofPerson(),
  'person.remove': ofPerson(),
  'login.list': ofOrg(),
  'login.end': ofLogin,
  'agent_settings.get': ofOrg(),
  'agent_settings.put': async () => ({ organisation, settings: { note: crypto.randomUUID() } }),
  'alert.list': ofOrg(),
  'alert.create': ofOrg(watched),
  'alert.change': ofAlert(watched),
  'alert.delete': ofAlert(),
  'alert_channel.list': ofOrg(),
  'alert_channel.create': ofOrg({ name: 'law', kind: 'slack', target: 'https://hooks.example.com/law' }),
  'alert_channel.delete': ofChannel,
  'alert_channel.test': ofChannel,
  'alert_delivery.list': ofOrg({ limit: 1 }),
  'event.list': ofOrg({ limit: 1 }),
  'model.inputs': async ({ it }) => ({ model: it.gateway.offering.catalogue.list()[0]?.id ?? '' }),
  'machine.create': async () => ({ label: 'made', rights: ['keys'], organisations: [organisation] }),
  'machine.rotate': ofMachine,
  'machine.revoke': ofMachine,
}

export const exampleOf = (act: AnyAct, scene: Scene): Promise<JsonObject> =>
  examples[act.name]?.(scene) ?? Promise.resolve({})

/** What a valid input becomes. */
export type Change = {
  readonly name: string
  /** Those of other reach are told the same. */
  readonly alike: 'all' | 'within a reach'
  /** In an address without a body, the query says which parameters there are. */
  readonly codeOnly?: boolean
  readonly of: (input: JsonObject) => JsonObject
}

const rowsOf = (act: AnyAct) =>
  Object.values(rowsOfFaces).flatMap((rows) => rows.filter((row) => row.act === act))

/** Members that every face with the act takes from a body. */
const inBodies = (act: AnyAct): readonly string[] =>
  Object.keys(act.input).filter((name) => rowsOf(act).every((row) => membersOf(row).body.includes(name)))

const odd: readonly Json[] = [
  null,
  true,
  -1,
  0,
  1.5,
  1e21,
  '',
  'x',
  '1.5',
  'x'.repeat(300),
  [],
  [1],
  {},
  { a: 1 },
]

export const changesOf = (act: AnyAct, runs: number): readonly Change[] => {
  // Two acts under one reference would be one.
  const bodies = inBodies(act).filter((name) => name !== 'ref')
  const drawn = fc.sample(fc.tuple(fc.constantFrom(...bodies, ''), fc.constantFrom(...odd)), {
    seed,
    numRuns: runs,
  })
  const without = (name: string) => (input: JsonObject) =>
    Object.fromEntries(Object.entries(input).filter(([member]) => member !== name))
  const ids = [
    'key',
    'tenant',
    'bill',
    'machine',
    'link',
    'parent',
    'person',
    'sub_wallet',
    'team',
    'call',
    'batch',
    'login',
    'kid',
    'alert',
    'channel',
  ].filter((name) => Object.hasOwn(act.input, name))
  return [
    { name: 'as it is', alike: 'all', of: (input) => input },
    {
      name: 'a member that is not known',
      alike: 'all',
      codeOnly: rowsOf(act).some((row) => membersOf(row).body.length === 0),
      of: (input) => ({ ...input, nonsense: 1 }),
    },
    ...bodies.map(
      (name): Change => ({ name: `without ${name}`, alike: 'within a reach', of: without(name) }),
    ),
    ...drawn
      .filter(([name]) => name !== '')
      .map(
        ([name, value]): Change => ({
          name: `${name}: ${JSON.stringify(value)}`,
          // Where null is taken, it is as if the member were not there.
          alike: value === null ? 'within a reach' : 'all',
          of: (input) => ({ ...input, [name]: value }),
        }),
      ),
    ...ids.map(
      (name): Change => ({
        name: `${name} of nobody`,
        alike: 'within a reach',
        of: (input) =>
          act.name === 'key.put' && name === 'key' ? input : { ...input, [name]: 'key_of_nobody' },
      }),
    ),
  ]
}

/**
 * Only a month that ends makes an invoice: test/console/money.test.ts and test/server/mpp.test.ts pay them. What tenants are
 * billed and mailed needs their use and a mail server: test/console/bills.test.ts, bill-mail.test.ts.
 * Agents sign in as people alone: test/console/agent-sign-in.test.ts.
 */
export const apart: readonly string[] = [
  'invoice.pay',
  'invoice.settle',
  'bill.close',
  'bill.mail',
  'login.get',
  'login.approve',
  'login.deny',
]

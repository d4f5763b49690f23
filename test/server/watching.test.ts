/**
 * Alerts: each step is told once a period to every channel, by its public form, however many processes look; shares and
 * balances are told again only after they were over; what is wrong is refused by name.
 */
import { expect, test } from 'bun:test'
import { silentLog } from '../../src/core/log.ts'
import { systemClock } from '../../src/core/time.ts'
import { lookAtRules, sendDue, type Watching } from '../../src/gateway/alerts/keep-watching.ts'
import { webhookSecret } from '../../src/gateway/jobs/signed-webhook.ts'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { serverEngines, stopSound } from '../store/engines.ts'
import { type Got, receivers } from './alert-receivers.ts'
import { chat, completion, jsonOf, startTestServer, type TestServer, USD } from './harness.ts'

const AGAIN_MS = 20 * 60_000

type Watched = TestServer & {
  readonly got: Got[]
  /** The id of the account's key. */
  readonly owner: string
  /** Looks at all rules and sends what is due, as a process with this store does. */
  look(parts?: Partial<Watching>): Promise<void>
  make(path: string, body: object): Promise<{ readonly id: string }>
  readonly now: () => number
  /** Time passes until the rules and the failed messages are due again. */
  later(ms?: number): void
}

/** The reset of what is due needs no waiting: the database's clock is the test's. */
const start = async (url: string, more: Parameters<typeof startTestServer>[0] = {}): Promise<Watched> => {
  let ahead = 0
  const now = () => Date.now() + ahead
  const server = await startTestServer({ url, now, ...more })
  const { got, parts } = receivers()
  const clock = { ...systemClock, now }
  const watching = { store: server.store, clock, log: silentLog, hash: server.hash, webhooks: parts }
  const look = async (change: Partial<Watching> = {}) => {
    await lookAtRules({ ...watching, ...change })
    await Promise.all(await sendDue({ ...watching, ...change }))
  }
  const owner = await server.newKey({}, { canManage: true })
  const make = async (path: string, body: object) => {
    const answer = await server.send('POST', path, body, owner.token)
    const made = await jsonOf(answer)
    if (answer.status !== 201) throw new Error(JSON.stringify(made))
    return made
  }
  const later = (ms = AGAIN_MS) => {
    ahead += ms
  }
  return { ...server, got, owner: owner.id, look, make, now, later }
}

const channelsOf = async ({ make }: Watched) => {
  const of = async (kind: string, target: string) =>
    (await make('/v1/alert-channels', { name: kind, kind, target })).id
  return [
    await of('slack', 'https://hooks.slack.com/services/T0/B0/secret'),
    await of('discord', 'https://discord.com/api/webhooks/1/secret'),
    await of('teams', 'https://prod-1.westeurope.logic.azure.com/workflows/1/triggers/manual/paths/invoke'),
    await of('pagerduty', 'R'.repeat(32)),
    await of('webhook', 'https://ours.example.com/alerts'),
  ]
}

/** Calls with a key, whose answer costs so many output tokens of 10 000 nano-USD, and an input of 1 000. */
const spend = async (it: Watched, tokens: number, token: string) => {
  it.answerWith(() =>
    completion('x', { prompt_tokens: 1, completion_tokens: tokens, total_tokens: tokens + 1 }),
  )
  const answer = await it.post('/v1/chat/completions', chat(), {}, token)
  await answer.text()
  expect(answer.status).toBe(200)
}

/** Takes money from the wallet, or puts some in. */
const move = ({ store, wallet }: Watched, amount: bigint) =>
  store.ledger.post({
    kind: 'adjust',
    ref: crypto.randomUUID(),
    debit: amount < 0n ? wallet : 'cash',
    credit: amount < 0n ? 'cash' : wallet,
    amount: amount < 0n ? -amount : amount,
  })

for (const engine of serverEngines) {
  test(`each step is told once a period in each channel's form, and resolved, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    const it = await start(database.url)
    const other = engine.lasting ? await openStore({ url: database.url, now: it.now }) : it.store
    const channels = await channelsOf(it)
    const key = await it.newKey({}, { parentId: it.owner })
    const rule = { name: 'Key & <co>', kind: 'key', subject: key.id, amount_usd: 0.01, steps: [50, 80, 100] }
    const { id } = await it.make('/v1/alerts', { ...rule, channels })
    await it.look()
    expect(it.got).toEqual([])
    const told: number[] = []
    for (const [amount, count] of [
      [500, 5],
      [100, 0],
      [200, 5],
      [200, 5],
      [500, 0],
    ] as const) {
      await spend(it, amount, key.token)
      it.later()
      // Three processes look at once, and each of them twice.
      await Promise.all([it.look(), it.look({ store: other }), it.look()])
      await Promise.all([it.look(), it.look({ store: other }), it.look()])
      told.push(it.got.splice(0).length - count)
    }
    expect(told).toEqual([0, 0, 0, 0, 0])
    const { open } = (await it.store.alerts.rules('org_test')).find((one) => one.id === id) ?? { open: [] }
    expect(open.map(({ step }) => step)).toEqual([50, 80, 100])
    // A higher amount begins anew: what was reached is over, and PagerDuty and the webhook hear of it.
    await it.store.alerts.putRule(
      {
        id,
        orgId: 'org_test',
        name: 'x',
        kind: 'key',
        subject: key.id,
        amount: 100n * USD,
        steps: [50],
        channels,
      },
      byTest,
    )
    it.later()
    await it.look()
    const over = it.got.splice(0)
    expect(over.map(({ host }) => host).toSorted()).toEqual([
      'events.pagerduty.com',
      'events.pagerduty.com',
      'events.pagerduty.com',
      'ours.example.com',
      'ours.example.com',
      'ours.example.com',
    ])
    if (other !== it.store) await other.close()
    await stopSound(it, database)
  })

  test(`a receiver that fails is tried again, and the log tells it, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    const it = await start(database.url)
    const { id } = await it.make('/v1/alert-channels', {
      name: 'down',
      kind: 'slack',
      target: 'https://hooks.slack.com/fails',
    })
    await it.store.alerts.testChannel(
      { id, orgId: 'org_test', name: 'down', kind: 'slack', target: '' },
      { title: 'a test', text: 'of it' },
      byTest,
    )
    const states = async () => {
      const [one] = await it.store.alerts.deliveries({ orgId: 'org_test', most: 5 })
      return [one?.state, one?.tries, one?.error]
    }
    await it.look()
    expect(await states()).toEqual(['due', 1, 'it answered 500'])
    // Not before its time.
    await it.look()
    expect(it.got).toHaveLength(1)
    for (let tries = 2; tries <= 9; tries++) {
      it.later(2 * 3_600_000)
      await it.look()
    }
    expect(await states()).toEqual(['given_up', 8, 'it answered 500'])
    expect(it.got).toHaveLength(8)
    await stopSound(it, database)
  })

  test(`the balance is told once until it was higher, and failures by their share, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    const it = await start(database.url, { fund: 10n * USD })
    const { id } = await it.make('/v1/alert-channels', {
      name: 'ours',
      kind: 'webhook',
      target: 'https://ours.example.com/alerts',
    })
    const channels = [id]
    await it.make('/v1/alerts', { name: 'low', kind: 'balance', amount_usd: 8, steps: [100, 50], channels })
    const heard = async () => {
      it.later()
      await it.look()
      return it.got.splice(0).map(({ body }) => `${body.type} ${body.data?.step ?? ''}`)
    }
    expect(await heard()).toEqual([])
    await move(it, -3n * USD)
    expect(await heard()).toEqual(['alert.reached 100'])
    // The next day it is still low, and that is nothing new.
    it.later(86_400_000)
    expect(await heard()).toEqual([])
    await move(it, 5n * USD)
    expect(await heard()).toEqual(['alert.resolved 100'])
    // On the same day too.
    await move(it, -5n * USD)
    expect(await heard()).toEqual(['alert.reached 100'])
    await move(it, 5n * USD)
    expect(await heard()).toEqual(['alert.resolved 100'])
    it.later(86_400_000)
    await move(it, -9n * USD)
    expect(await heard()).toEqual(['alert.reached 50'])
    await it.make('/v1/alerts', { name: 'failing', kind: 'failures', steps: [20], minutes: 60, channels })
    expect(await heard()).toEqual([])
    const key = await it.newKey()
    const at = Date.now()
    const row = (n: number) => ({
      id: Bun.randomUUIDv7(),
      keyId: key.id,
      at: at + 600_000 * 24 * 20 + n,
      code: 'upstream_error',
      status: 502,
      detail: { tookMs: 1 },
    })
    const rows = Array.from({ length: 25 }, (_one, n) => row(n))
    const counts = [{ keyId: key.id, code: 'upstream_error', calls: 25 }]
    await it.store.failures.noteFailures({ day: 0, counts, rows }, 1_000)
    expect(await heard()).toEqual(['alert.reached 20'])
    it.later(3 * 86_400_000)
    expect(await heard()).toEqual(['alert.resolved 20'])
    await stopSound(it, database)
  })
  test(`two caps of a key that are reached at once are both told, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    const it = await start(database.url)
    const { id } = await it.make('/v1/alert-channels', {
      name: 'ours',
      kind: 'webhook',
      target: 'https://ours.example.com/alerts',
    })
    const limits = { monthlyCap: 500_000_000n, dailyCap: 800_000_000n }
    const key = await it.newKey(limits, { parentId: it.owner })
    const rule = { name: 'Caps', kind: 'key', subject: key.id, steps: [5, 8], channels: [id] }
    await it.make('/v1/alerts', rule)
    await spend(it, 4_500, key.token)
    it.later()
    await it.look()
    // Of each cap the most severe of its steps.
    const told = it.got.map(({ body }) => [body.data?.limit, body.data?.step])
    expect(told).toEqual([
      ['0.5', 8],
      ['0.8', 5],
    ])
    await stopSound(it, database)
  })

  test(`what is over is told to those who heard of it, whatever channels its alert has by then, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    const it = await start(database.url, { fund: 10n * USD })
    const of = async (kind: string, target: string) =>
      (await it.make('/v1/alert-channels', { name: kind, kind, target })).id
    const pager = await of('pagerduty', 'R'.repeat(32))
    const ours = await of('webhook', 'https://ours.example.com/alerts')
    const rule = { name: 'low', kind: 'balance', amount_usd: 8, steps: [100] }
    const { id } = await it.make('/v1/alerts', { ...rule, channels: [pager] })
    const heard = async () => {
      it.later()
      await it.look()
      return it.got.splice(0).map(({ host, body }) => [host, body.event_action])
    }
    await move(it, -3n * USD)
    expect(await heard()).toEqual([['events.pagerduty.com', 'trigger']])
    const owner = await it.newKey({}, { canManage: true })
    const changed = await it.send('PUT', `/v1/alerts/${id}`, { ...rule, channels: [ours] }, owner.token)
    expect(changed.status).toBe(200)
    await move(it, 3n * USD)
    expect(await heard()).toEqual([['events.pagerduty.com', 'resolve']])
    await stopSound(it, database)
  })

  test(`who has many messages waiting takes not all places from others, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    const it = await start(database.url)
    const { alerts } = it.store
    const channel = async (orgId: string) => {
      const made = {
        id: `chan_${orgId}`,
        orgId,
        name: 'c',
        kind: 'webhook' as const,
        target: 'https://a.example.com/',
      }
      await alerts.makeChannel(made, byTest)
      return made
    }
    const [many, few] = [await channel('org_many'), await channel('org_few')]
    for (let n = 0; n < 60; n++) await alerts.testChannel(many, { title: 'x', text: 'x' }, byTest)
    await alerts.testChannel(few, { title: 'x', text: 'x' }, byTest)
    const taken = async () => (await alerts.takeDeliveries(50)).map(({ channelId }) => channelId)
    const first = await taken()
    expect(first.filter((id) => id === few.id)).toHaveLength(1)
    expect(first.length).toBeLessThan(25)
    expect((await taken()).length).toBeGreaterThan(0)
    // What failed before does not go before what is new.
    it.later(2 * 3_600_000)
    await alerts.testChannel(few, { title: 'x', text: 'x' }, byTest)
    expect((await taken()).filter((id) => id === few.id)).toHaveLength(2)
    await stopSound(it, database)
  })
}

test('what is wrong with an alert or a channel is refused by its member', async () => {
  const it = await start('sqlite::memory:')
  const owner = await it.newKey({}, { canManage: true })
  const child = await it.newKey({}, { parentId: owner.id })
  const good = { name: 'a', kind: 'wallet', amount_usd: 5, steps: [50], channels: [] }
  const asked = async (path: string, body: object, token = owner.token) => {
    const answer = await it.send('POST', path, body, token)
    const { error } = await jsonOf(answer)
    return [answer.status, error?.param ?? error?.code]
  }
  for (const [change, param] of [
    [{ steps: [] }, 'steps'],
    [{ steps: [1.5] }, 'steps.0'],
    [{ kind: 'key' }, 'subject'],
    [{ kind: 'person', subject: 'nobody' }, 'subject'],
    [{ kind: 'sub_wallet', subject: 'sub_x', amount_usd: null }, 'subject'],
    [{ kind: 'balance', amount_usd: null }, 'amount_usd'],
    [{ kind: 'balance', forecast: true }, 'forecast'],
    [{ kind: 'failures' }, 'amount_usd'],
    [{ kind: 'failures', amount_usd: null, steps: [101] }, 'steps'],
    [{ minutes: 60 }, 'minutes'],
    [{ channels: ['chan_x'] }, 'channels'],
    [{ subject: 'x' }, 'subject'],
  ] as const)
    expect([change, await asked('/v1/alerts', { ...good, ...change })]).toEqual([change, [400, param]])
  expect((await asked('/v1/alerts', good, child.token))[0]).toBe(403)
  expect((await asked('/v1/alerts', good))[0]).toBe(201)
  for (const [kind, target] of [
    ['slack', 'http://hooks.slack.com/x'],
    ['slack', 'https://127.0.0.1/x'],
    ['webhook', 'https://metadata.internal/'],
    ['teams', 'https://[::1]/'],
    ['pagerduty', 'short'],
    ['mail', 'not an address'],
    ['mail', 'stranger@example.com'],
  ] as const)
    expect([target, await asked('/v1/alert-channels', { name: 'c', kind, target })]).toEqual([
      target,
      [400, 'target'],
    ])
  // The whole address of Slack is a secret, and is not told again.
  const secret = { name: 'c', kind: 'slack', target: 'https://hooks.slack.com/services/T/B/abcdefgh' }
  await it.make('/v1/alert-channels', secret)
  const listed = await (await it.get('/v1/alert-channels', owner.token)).text()
  expect([listed.includes('abcdefgh'), listed.includes('…efgh')]).toEqual([false, true])
  await it.stop()
})

test('a webhook is signed by the secret that the channel shows', async () => {
  const it = await start('sqlite::memory:')
  const { id, secret } = (await it.make('/v1/alert-channels', {
    name: 'ours',
    kind: 'webhook',
    target: 'https://ours.example.com/alerts',
  })) as { id: string; secret?: string }
  expect(secret).toBe(webhookSecret(it, id))
  const owner = await it.newKey({}, { canManage: true })
  const tested = () => it.send('POST', `/v1/alert-channels/${id}/test`, undefined, owner.token)
  expect((await tested()).status).toBe(200)
  await it.look()
  const [got] = it.got
  const { 'webhook-id': mid, 'webhook-timestamp': at, 'webhook-signature': signature } = got?.headers ?? {}
  const key = Buffer.from(String(secret).slice('whsec_'.length), 'base64')
  const mac = new Bun.CryptoHasher('sha256', key).update(`${mid}.${at}.${got?.text}`).digest('base64')
  expect(signature).toBe(`v1,${mac}`)
  const statuses: number[] = []
  for (let more = 0; more < 10; more++) statuses.push((await tested()).status)
  expect([statuses.filter((status) => status === 200).length, statuses.at(-1)]).toEqual([9, 429])
  await it.stop()
})

test('a call is none the dearer: rules read what is there already', async () => {
  const it = await start('sqlite::memory:')
  await it.make('/v1/alerts', { name: 'a', kind: 'wallet', amount_usd: 0.000001, steps: [100], channels: [] })
  const answer = await it.post('/v1/chat/completions', chat())
  await answer.text()
  it.later()
  await it.look()
  const [rule] = await it.store.alerts.rules('org_test')
  expect(rule?.open.map(({ step }) => step)).toEqual([100])
  await it.stop()
})

/** Alerts in the console: mail by a real server to people of the organisation, and those of the house for operators alone. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SMTPServer } from 'smtp-server'
import { silentLog } from '../../src/core/log.ts'
import { Secret } from '../../src/core/secret.ts'
import { systemClock } from '../../src/core/time.ts'
import { lookAtRules, sendDue } from '../../src/gateway/alerts/keep-watching.ts'
import { freePort } from '../free-port.ts'
import { receivers } from '../server/alert-receivers.ts'
import { chat, jsonOf } from '../server/harness.ts'
import { startConsole, type TestConsole, type Visitor } from './rig.ts'

type Mail = { readonly to: string; readonly text: string }
const mails: Mail[] = []
let smtp: SMTPServer
let it: TestConsole
let owner: Visitor
let operator: Visitor

beforeAll(async () => {
  const port = await freePort()
  smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData: (stream, { envelope }, done) => {
      const pieces: Buffer[] = []
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.on('end', () => {
        const to = envelope.rcptTo.map(({ address }) => address).join(' ')
        mails.push({ to, text: Buffer.concat(pieces).toString('utf8') })
        done()
      })
    },
  })
  await new Promise<void>((resolve) => smtp.listen(port, '127.0.0.1', resolve))
  it = await startConsole({
    settings: { smtp: new Secret(`smtp://127.0.0.1:${port}`), mailFrom: 'alerts@example.com' },
  })
  owner = await it.visit('owner@example.com', 'owner')
  operator = await it.visit('operator@example.com', 'admin', 'org_test', true)
})
afterAll(async () => {
  await it.stop()
  await new Promise<void>((resolve) => smtp.close(resolve))
})

const look = async () => {
  const { parts } = receivers()
  const clock = { ...systemClock, now: () => it.gateway.clock.now() }
  const { store, hash, gateway } = it
  const watching = { store, hash, clock, log: silentLog, webhooks: parts, console: gateway.console }
  await lookAtRules(watching)
  await Promise.all(await sendDue(watching))
}

test('an alert comes by mail, with an id of its own, to somebody of the organisation only', async () => {
  const make = (target: string) => owner.ask('POST', '/alert-channels', { name: 'me', kind: 'mail', target })
  expect((await make('stranger@example.com')).status).toBe(400)
  const answer = await make('Owner@example.com')
  expect(answer.status).toBe(201)
  const { id } = await jsonOf(answer)
  const rule = {
    name: 'Month',
    kind: 'wallet',
    amount_usd: '0.00001',
    steps: [50, 100],
  }
  for (const name of ['Month\r\nBcc: all@example.com', 'Month \u202etxet'])
    expect(await jsonOf(await owner.ask('POST', '/alerts', { ...rule, name, channels: [id] }))).toMatchObject(
      { error: { param: 'name', message: expect.stringContaining('one line of text') } },
    )
  expect((await owner.ask('POST', '/alerts', { ...rule, channels: [id] })).status).toBe(201)
  const call = await it.post('/v1/chat/completions', chat())
  await call.text()
  await look()
  await look()
  expect(mails.map(({ to }) => to)).toEqual(['owner@example.com'])
  expect(mails[0]?.text).toMatch(/^Message-ID: <[\w-]+@turnpike>\r$/im)
  expect(mails[0]?.text).not.toMatch(/^Bcc:/im)
  const { data } = await jsonOf(await owner.ask('GET', '/alert-deliveries'))
  expect(data.map(({ state, what }: { state: string; what: string }) => [state, what])).toEqual([
    ['sent', 'reached'],
  ])
})

test('alerts of the house are for operators, and watch all organisations', async () => {
  const rule = {
    name: 'At Mock',
    kind: 'vendor',
    subject: 'mock',
    amount_usd: '0.00001',
    steps: [100],
    channels: [],
  }
  expect((await owner.ask('POST', '/operator/alerts', rule)).status).toBe(404)
  const made = await operator.ask('POST', '/operator/alerts', rule)
  expect(made.status).toBe(201)
  await look()
  const { data } = await jsonOf(await operator.ask('GET', '/operator/alerts'))
  expect(data).toMatchObject([{ name: 'At Mock', open: [{ step: 100 }] }])
  // That of the organisation is another list.
  const own = await jsonOf(await operator.ask('GET', '/alerts'))
  expect(own.data.map(({ kind }: { kind: string }) => kind)).toEqual(['wallet'])
  const { id } = await jsonOf(made)
  expect((await owner.ask('DELETE', `/alerts/${id}`)).status).toBe(404)
  const balance = { ...rule, kind: 'balance', subject: undefined }
  expect((await operator.ask('POST', '/operator/alerts', balance)).status).toBe(400)
})

test('who may only look makes no alert and sees no secret', async () => {
  const viewer = await it.visit('viewer@example.com', 'viewer')
  const hook = { name: 'ours', kind: 'webhook', target: 'https://ours.example.com/x' }
  expect((await viewer.ask('POST', '/alert-channels', hook)).status).toBe(403)
  await owner.ask('POST', '/alert-channels', hook)
  const secrets = async (of: Visitor) =>
    (await jsonOf(await of.ask('GET', '/alert-channels'))).data.map(
      ({ secret }: { secret: string | null }) => secret !== null,
    )
  expect([await secrets(owner), await secrets(viewer)]).toEqual([
    [false, true],
    [false, false],
  ])
})

test('somebody who was removed gets no more mails of alerts, and other channels stay', async () => {
  const leaver = await it.visit('leaver@example.com', 'admin')
  const make = async (target: string) =>
    (await jsonOf(await owner.ask('POST', '/alert-channels', { name: 'all', kind: 'mail', target }))).id
  const [theirs, ours] = [await make(leaver.email), await make('owner@example.com')]
  const tried = (id: string) => owner.ask('POST', `/alert-channels/${id}/test`, {})
  const before = mails.length
  await tried(theirs)
  expect((await owner.ask('DELETE', `/team/${leaver.personId}`)).status).toBe(200)
  expect((await tried(theirs)).status).toBe(404)
  await tried(ours)
  await look()
  expect(mails.slice(before).map(({ to }) => to)).toEqual(['owner@example.com'])
  const { data } = await jsonOf(await owner.ask('GET', '/events'))
  expect(data.map(({ what, subject }: { what: string; subject: string }) => [what, subject])).toContainEqual([
    'alert_channel.deleted',
    theirs,
  ])
})

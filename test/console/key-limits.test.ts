/** Every face takes and shows every limit of a key: a key over HTTP, a person, a machine, a command. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limitList } from '../../src/tenancy/limits.ts'
import { byTest } from '../by-test.ts'
import { runProgram, startProgram } from '../program.ts'
import { chat, jsonOf, testModel } from '../server/harness.ts'
import { until } from '../until.ts'
import { startConsole } from './rig.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-key-limits-'))
afterAll(() => rmSync(folder, { recursive: true }))

const lists = {
  models: ['mock/*'],
  addresses: ['10.0.0.0/8', '::1'],
  conditions: ['no_training', 'zdr'],
} as const
/** A value of each limit as bodies have it, and its text for an option. */
const values = Object.fromEntries(
  limitList.map(([, { member, form, of = 'models' }], at) => [
    member,
    { usd: 2 + at, count: 20 + at, time: '2031-05-06T00:00:00.000Z', list: lists[of] }[form],
  ]),
)
const none = Object.fromEntries(limitList.map(([, { member }]) => [member, null]))
/** The same where amounts are texts. */
const inTexts = Object.fromEntries(
  limitList.map(([, { member, form }]) => [member, form === 'usd' ? String(values[member]) : values[member]]),
)

test('a key over HTTP, a person and a machine take and show all limits, and remove them', async () => {
  const it = await startConsole()
  try {
    const owner = await it.visit('owner@example.com', 'owner')
    const top = await it.newKey({}, { canManage: true })
    const credential = 'tm-machine-of-these-tests-000000'
    await it.store.machines.create(
      {
        id: 'mac_limits',
        hash: it.hash(credential),
        label: 'm',
        prefix: 'tm-machine',
        rights: ['keys', 'read'],
        rpm: 600,
      },
      byTest,
    )
    const faces = {
      http: {
        shown: values,
        make: () => it.send('POST', '/v1/key/wholesale', { label: 'k', ...values }, top.token),
        read: (id: string) => it.get(`/v1/key/wholesale/${id}`, top.token),
        free: (id: string) => it.send('PUT', `/v1/key/wholesale/${id}/limits`, none, top.token),
      },
      console: {
        shown: inTexts,
        make: () => owner.ask('POST', '/keys', { label: 'k', ...values }),
        read: (id: string) => owner.ask('GET', `/keys/${id}`),
        free: (id: string) => owner.ask('PUT', `/keys/${id}`, none),
      },
      machine: {
        shown: inTexts,
        make: () => it.send('POST', '/v1/admin/keys', { label: 'k', parent: top.id, ...values }, credential),
        read: (id: string) => it.send('GET', `/v1/admin/keys/${id}`, undefined, credential),
        free: (id: string) => it.send('PATCH', `/v1/admin/keys/${id}`, none, credential),
      },
    }
    for (const [face, { shown, make, read, free }] of Object.entries(faces)) {
      const answer = await make()
      const body = await jsonOf(answer)
      const made = body.data ?? body
      expect([face, answer.status, made]).toEqual([face, 201, expect.objectContaining(shown)])
      const again = await jsonOf(await read(made.id))
      expect([face, again.data ?? again]).toEqual([face, expect.objectContaining(shown)])
      const after = await jsonOf(await free(made.id))
      expect([face, after.data ?? after]).toEqual([face, expect.objectContaining(none)])
    }
    const put = (body: object) =>
      it.send('PUT', '/v1/admin/keys/key_of_limits', { label: 'k', parent: top.id, ...body }, credential)
    expect(await jsonOf(await put(values))).toMatchObject(inTexts)
    const { version } = await jsonOf(await put(values))
    expect(version).toBe(1)
    expect(await jsonOf(await put({}))).toMatchObject({ ...none, version: 2 })
    const { data } = await jsonOf(await owner.ask('GET', '/events'))
    const { before } = data.find(({ what }: { what: string }) => what === 'key.changed')
    expect(before).toMatchObject({
      dailyCap: String(values.daily_cap_usd),
      expiresAt: values.expires_at,
      allowedModels: 'mock/*',
    })
  } finally {
    await it.stop()
  }
})

test('a command takes and shows all limits, and removes them', async () => {
  const settings = { DATABASE_URL: `sqlite:${folder}/ledger.db` }
  const run = async (...args: string[]) => {
    const { code, out, errors } = await runProgram(folder, settings, ...args, '--json')
    expect([code, errors]).toEqual([0, ''])
    return JSON.parse(out)
  }
  const { child } = await startProgram(folder, settings)
  const given = { ...values, allowed_models: ['local/*'] }
  const options = limitList.flatMap(([, { option, member }]) => [
    option,
    [given[member as keyof typeof given]].flat().join(','),
  ])
  const made = await run('key', 'create', '--label', 'k', ...options)
  expect(made).toMatchObject(given)
  expect((await run('key', 'list'))[0]).toMatchObject(given)
  const removed = limitList.flatMap(([, { option }]) => [option, 'none'])
  expect(await run('key', 'limits', made.id, ...removed)).toMatchObject(none)
  child.kill()
  expect(await child.exited).toBe(0)
})

test('keys near the cap of any period need attention', async () => {
  const it = await startConsole({ models: [testModel('small')] })
  try {
    const owner = await it.visit('owner@example.com', 'owner')
    const caps = ['spend_cap_usd', 'monthly_cap_usd', 'weekly_cap_usd', 'daily_cap_usd']
    for (const cap of caps) {
      const { id, key } = await jsonOf(await owner.ask('POST', '/keys', { label: cap }))
      // It costs 60 000 nano-USD.
      expect((await it.post('/v1/chat/completions', chat(), {}, key)).status).toBe(200)
      expect((await owner.ask('PUT', `/keys/${id}`, { [cap]: '0.000065' })).status).toBe(200)
    }
    await until(async () => {
      const { attention } = await jsonOf(await owner.ask('GET', '/overview'))
      return attention.filter(({ kind }: { kind: string }) => kind === 'near').length === caps.length
    })
  } finally {
    await it.stop()
  }
})

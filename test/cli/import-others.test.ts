/** `turnpike import one-api` and `openrouter`: a database of SQLite as One-API has it, and what OpenRouter's list of keys says. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MODEL, openImports } from './import-rig.ts'

let it: Awaited<ReturnType<typeof openImports>>
beforeAll(async () => {
  it = await openImports()
})
afterAll(() => it.stop())

/** Tables and columns as their structures make them; those of New API are the last of each. */
const schema = `
  create table users (id integer primary key, username text, display_name text, role bigint default 1,
    status bigint default 1, email text, quota bigint default 0, used_quota bigint default 0, "group" text, deleted_at datetime);
  create table tokens (id integer primary key, user_id bigint, "key" char(48), status bigint default 1, name text,
    expired_time bigint default -1, remain_quota bigint default 0, unlimited_quota numeric default false,
    used_quota bigint default 0, models text, subnet text default '', model_limits_enabled numeric, model_limits text,
    allow_ips text, deleted_at datetime);
  create table options ("key" text primary key, value text);
  create table channels (id integer primary key, "key" text);
  insert into channels values (1, 'sk-of-a-vendor');`

const theirKey = (name: string) => `${name}${'0'.repeat(48 - name.length)}`
const users = [
  { id: 1, username: 'root', display_name: 'Root User', quota: 1_500_000 },
  { id: 2, username: 'ann', display_name: '', status: 2, quota: 7 },
  { id: 3, username: 'gone', status: 1, deleted_at: '2026-01-01' },
  { id: 4, username: 'idle', quota: -5 },
]
const tokens = [
  {
    name: 'capped',
    user_id: 1,
    remain_quota: 500_000,
    used_quota: 250_000,
    models: `${MODEL},gpt-of-nobody`,
  },
  {
    name: 'free',
    user_id: 1,
    unlimited_quota: 1,
    remain_quota: -3,
    used_quota: 100_000,
    subnet: '127.0.0.0/8,here',
  },
  { name: 'used up', user_id: 1, remain_quota: -20, used_quota: 500_020 },
  { name: 'elsewhere', user_id: 1, unlimited_quota: 1, subnet: '10.0.0.0/8' },
  { name: 'limited', user_id: 1, unlimited_quota: 1, model_limits_enabled: 1, model_limits: 'gpt-of-nobody' },
  { name: 'off', user_id: 1, unlimited_quota: 1, status: 2 },
  { name: 'expired', user_id: 1, unlimited_quota: 1, expired_time: 1_600_000_000 },
  { name: 'other form', user_id: 1, unlimited_quota: 1 },
  { name: 'of ann', user_id: 2, unlimited_quota: 1 },
  { name: 'of gone', user_id: 3, unlimited_quota: 1 },
  { name: 'deleted', user_id: 1, unlimited_quota: 1, deleted_at: '2026-01-01' },
].map((token) => ({
  ...token,
  key: token.name === 'other form' ? 'short' : theirKey(token.name.replaceAll(' ', '')),
}))

test('tokens of One-API call with the values that they have, and what users have left is in their wallets', async () => {
  const file = join(it.folder, 'one-api.db')
  const database = new Database(file)
  database.run(schema)
  for (const [table, rows] of Object.entries({ users, tokens }))
    for (const row of rows)
      database
        .query(
          `insert into ${table} (${Object.keys(row).map((name) => `"${name}"`)}) values (${Object.keys(row).map(() => '?')})`,
        )
        .run(...Object.values<string | number>(row))
  const [dry, first] = await it.asDocumented('one-api', { '--from': file })
  expect(first.changes).toEqual(dry.changes)
  const answers = Object.fromEntries(
    await Promise.all(tokens.map(async ({ name, key }) => [name, await it.call(`sk-${key}`)])),
  )
  expect(answers).toEqual({
    capped: 'chat.completion',
    free: 'chat.completion',
    'used up': 402,
    elsewhere: 403,
    limited: 403,
    off: 403,
    expired: 401,
    'other form': 401,
    'of ann': 403,
    'of gone': 401,
    deleted: 401,
  })
  const shown = await it.keysShown()
  expect(shown('capped')).toMatchObject({ spend_cap_usd: 1.5, allowed_models: [MODEL], prefix: 'sk-capped0' })
  expect(Math.floor(shown('capped').spent_usd * 100)).toBe(50)
  expect(shown('free')).toMatchObject({ spend_cap_usd: null, allowed_addresses: ['127.0.0.0/8'] })
  const balance = async () =>
    JSON.parse((await it.run('wallet', 'show', shown('capped').wallet, '--json')).out).balance_usd
  expect(await balance()).toBeGreaterThan(2.9)
  expect(first.told).toEqual([
    'key capped of root: not sold here: gpt-of-nobody',
    'key free of root: no addresses here: here',
    'key limited of root: not sold here: gpt-of-nobody',
    'key limited of root: nothing of that is left, so it is disabled',
    'key expired of root: left out, it expired',
    'key other form of root: left out, its value has no form that is taken here',
    'key of gone of 3: left out, its user was deleted',
    'no place here: 2 users without keys and money',
    'no place here: 4 people; invite them with turnpike person',
    'no place here: 1 group of users with their ratios',
    'no place here: 1 channel; set the keys of your vendors',
  ])

  // They went on there meanwhile, and dollars have another price.
  database.run('update users set quota = quota / 2')
  database.run('update tokens set used_quota = used_quota + 1000, remain_quota = remain_quota - 1000')
  const again = await it.importing('one-api', file)
  expect(again.changes).toEqual([])
  expect(again.told).toContain(
    'org_oneapi_1: its wallet was given another amount before, and is not given 1.5 USD',
  )
  expect(await balance()).toBeLessThanOrEqual(3)
  database.run(`insert into options values ('QuotaPerUnit', '100000')`)
  const [change] = (await it.importing('one-api', file, '--dry-run')).changes
  expect(change.fields).toEqual([{ field: 'spend_cap_usd', before: '1.5', after: '7.5' }])
  database.close()
})

const listed = (name: string, more: object = {}) => ({
  hash: new Bun.CryptoHasher('sha256').update(name).digest('hex'),
  name,
  label: 'sk-or-v1-0e6...1c96',
  disabled: false,
  limit: null,
  limit_remaining: null,
  limit_reset: null,
  include_byok_in_limit: false,
  usage: 0,
  usage_daily: 0,
  usage_weekly: 0,
  usage_monthly: 0,
  byok_usage: 0,
  expires_at: null,
  workspace_id: 'w1',
  ...more,
})

test('keys of OpenRouter get new values in a file of their owner, which a second run leaves as it is', async () => {
  const from = join(it.folder, 'keys.json')
  const keysTo = join(it.folder, 'new-keys.tsv')
  const data = [
    listed('monthly', {
      limit: 100,
      limit_reset: 'monthly',
      usage: 40,
      usage_monthly: 25.5,
      usage_weekly: 3,
    }),
    listed('all in all', { limit: 10, usage: 10, byok_usage: 2, workspace_id: 'w2' }),
    listed('off', { disabled: true, expires_at: '2999-12-31T23:59:59Z' }),
    listed('expired', { expires_at: '2020-12-31T23:59:59Z' }),
  ]
  writeFileSync(from, JSON.stringify([{ data: data.slice(0, 2) }, { data: data.slice(2) }]))
  const [dry, first] = await it.asDocumented('openrouter', { '--from': from, '--keys-to': keysTo })
  expect(dry.changes.length).toBe(4)
  const lines = () => readFileSync(keysTo, 'utf8').trim().split('\n')
  const values = new Map(
    lines()
      .map((line) => line.split('\t').toReversed() as [string, string, string])
      .map(([label, , value]) => [label, value]),
  )
  expect([statSync(keysTo).mode & 0o777, [...values.keys()]]).toEqual([
    0o600,
    ['monthly', 'all in all', 'off'],
  ])
  expect(JSON.stringify(first)).not.toContain(values.get('monthly') ?? '')
  const answers = await Promise.all([...values.values()].map((value) => it.call(value)))
  expect(answers).toEqual(['chat.completion', 402, 403])
  const shown = await it.keysShown()
  expect(shown('monthly')).toMatchObject({ monthly_cap_usd: 100, spend_cap_usd: null })
  expect(Math.floor(shown('monthly').spent_this_month_usd * 10)).toBe(255)
  expect(Math.floor(shown('monthly').spent_usd)).toBe(40)
  expect(first.told).toEqual([
    'key all in all: what it spent with keys of your own at vendors has no place here',
    'key expired: left out, it expired at 2020-12-31T23:59:59Z',
    '2 workspaces have one wallet here, as they have there',
  ])
  const before = lines()
  expect((await it.importing('openrouter', from, '--keys-to', keysTo, '--fund', '100')).changes).toEqual([])
  expect(lines()).toEqual(before)
})

test('a run that was broken off before its keys were made gives them the values of its file', async () => {
  const from = join(it.folder, 'more-keys.json')
  const keysTo = join(it.folder, 'more-new-keys.tsv')
  const key = listed('later')
  const value = `sk-${'x'.repeat(43)}`
  writeFileSync(from, JSON.stringify({ data: [key] }))
  writeFileSync(keysTo, `${value}\tkey_openrouter_${key.hash.slice(0, 40)}\tlater\n`)
  await it.importing('openrouter', from, '--keys-to', keysTo)
  expect(readFileSync(keysTo, 'utf8').split('\n').length).toBe(2)
  expect(await it.call(value)).toBe('chat.completion')
  const another = listed('cut off')
  writeFileSync(from, JSON.stringify({ data: [key, another] }))
  writeFileSync(keysTo, value.slice(0, 9))
  await it.importing('openrouter', from, '--keys-to', keysTo)
  const [cut, whole = ''] = readFileSync(keysTo, 'utf8').split('\n')
  expect([cut, await it.call(whole.split('\t')[0] ?? '')]).toEqual([value.slice(0, 9), 'chat.completion'])
  rmSync(keysTo)
  await it.importing('openrouter', from, '--keys-to', keysTo)
  expect(() => statSync(keysTo)).toThrow()
})

test('what cannot be read or written is said in one line', async () => {
  const wrong = join(it.folder, 'wrong.json')
  const failed = async (...args: string[]) => {
    const { code, errors } = await it.run('import', ...args)
    expect([code, errors.split('\n').length]).toEqual([1, 2])
    return errors
  }
  for (const text of ['null', '{"data": [{"hash": 5}]}', '{"tokens": [{}]}']) {
    writeFileSync(wrong, text)
    expect(await failed('openrouter', '--from', wrong, '--keys-to', join(it.folder, 'k'))).toContain(
      'is not what GET https://openrouter.ai/api/v1/keys answers',
    )
  }
  expect(await failed('one-api', '--from', wrong)).toContain('tokens, row 0, user_id')
  expect(await failed('one-api', '--from', 'mysql://u:secret@127.0.0.1:1/none')).not.toContain('secret')
  writeFileSync(wrong, '{"data": []}')
  expect(await failed('openrouter', '--from', wrong, '--keys-to', '/nowhere/keys')).toContain(
    'cannot be written',
  )
})

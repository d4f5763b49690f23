/** `turnpike import`: databases as other gateways have them; their keys' values call here, under the limits they had. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { SQL } from 'bun'
import { untouchedPostgres } from '../postgres.ts'
import { until } from '../until.ts'
import { MODEL, openImports, sha256 } from './import-rig.ts'

/** Keys of a house; the large one that docs/moving.md tells of had 10,000. */
const MANY = Number(process.env.IMPORT_KEYS ?? 400)

let it: Awaited<ReturnType<typeof openImports>>
let theirs: Awaited<ReturnType<typeof untouchedPostgres>>

/** The columns that LiteLLM's published schema has, as its migrations make them. */
const limits = `max_budget double precision, spend double precision not null default 0, models text[], tpm_limit bigint,
  rpm_limit bigint, max_parallel_requests int, budget_duration text, budget_reset_at timestamp(3),
  model_max_budget jsonb not null default '{}'`
const schema = [
  `"LiteLLM_BudgetTable" (budget_id text primary key, max_budget double precision, soft_budget double precision,
     max_parallel_requests int, tpm_limit bigint, rpm_limit bigint, model_max_budget jsonb, budget_duration text)`,
  `"LiteLLM_OrganizationTable" (organization_id text primary key, organization_alias text not null, budget_id text not null,
     metadata jsonb not null default '{}', models text[], spend double precision not null default 0)`,
  `"LiteLLM_ModelTable" (id serial primary key, aliases jsonb)`,
  `"LiteLLM_TeamTable" (team_id text primary key, team_alias text, organization_id text, blocked boolean not null default false,
     model_id int, metadata jsonb not null default '{}', ${limits})`,
  `"LiteLLM_UserTable" (user_id text primary key, user_alias text, user_email text, organization_id text, ${limits})`,
  `"LiteLLM_TeamMembership" (user_id text, team_id text, spend double precision not null default 0, budget_id text)`,
  `"LiteLLM_VerificationToken" (token text primary key, key_name text, key_alias text, expires timestamp(3), aliases jsonb
     not null default '{}', permissions jsonb not null default '{}', metadata jsonb not null default '{}', user_id text,
     team_id text, organization_id text, budget_id text, blocked boolean, allowed_routes text[] default '{}', ${limits})`,
]

const values = {
  app: 'sk-aaaaaaaaaaaaaaaaaaaaaa',
  spent: 'sk-bbbbbbbbbbbbbbbbbbbbbb',
  blocked: 'sk-cccccccccccccccccccccc',
  expired: 'sk-dddddddddddddddddddddd',
  ofUser: 'sk-eeeeeeeeeeeeeeeeeeeeee',
  free: 'sk-ffffffffffffffffffffff',
  elsewhere: 'sk-gggggggggggggggggggggg',
  ofBlockedTeam: 'sk-hhhhhhhhhhhhhhhhhhhhhh',
} as const
const key = (value: string, alias: string, more: object = {}) => ({
  token: sha256(value),
  key_name: `sk-...${value.slice(-4)}`,
  key_alias: alias,
  ...more,
})

const rows: Readonly<Record<string, readonly object[]>> = {
  LiteLLM_BudgetTable: [
    { budget_id: 'b-org', max_budget: 100 },
    { budget_id: 'b-member', max_budget: 1 },
  ],
  LiteLLM_OrganizationTable: [
    { organization_id: 'o1', organization_alias: 'Acme', budget_id: 'b-org', models: [], spend: 99 },
  ],
  LiteLLM_ModelTable: [{ id: 1, aliases: { fast: MODEL } }],
  LiteLLM_TeamTable: [
    {
      team_id: 't1',
      team_alias: 'Red',
      organization_id: 'o1',
      max_budget: 50,
      budget_duration: '30d',
      spend: 3,
      rpm_limit: 50,
      model_id: 1,
    },
    { team_id: 't2', team_alias: 'Blue', blocked: true },
  ],
  LiteLLM_UserTable: [
    {
      user_id: 'u1',
      user_email: 'ann@example.com',
      max_budget: 10,
      budget_duration: '14d',
      spend: 2.5,
      max_parallel_requests: 3,
    },
  ],
  LiteLLM_TeamMembership: [{ user_id: 'u1', team_id: 't1', budget_id: 'b-member' }],
  LiteLLM_VerificationToken: [
    key(values.app, 'app', {
      team_id: 't1',
      max_budget: 5,
      spend: 1.25,
      rpm_limit: 500,
      models: [MODEL, 'gpt-of-nobody'],
    }),
    key(values.spent, 'spent', { team_id: 't1', max_budget: 1, spend: 1.5 }),
    key(values.blocked, 'blocked', { blocked: true }),
    key(values.expired, 'expired', { expires: '2020-01-01T00:00:00' }),
    key(values.ofUser, 'of ann', { user_id: 'u1', aliases: { mine: MODEL }, expires: '2999-01-01T00:00:00' }),
    key(values.free, 'free', { models: ['all-proxy-models'], max_budget: 0.1 + 0.2 }),
    key(values.elsewhere, 'elsewhere', { models: ['gpt-of-nobody'] }),
    key(values.ofBlockedTeam, 'of blue', { team_id: 't2' }),
    key('sk-1234', 'master'),
    key('sk-iiiiiiiiiiiiiiiiiiiiii', 'pages', { team_id: 'litellm-dashboard' }),
  ],
}

beforeAll(async () => {
  theirs = await untouchedPostgres()
  const sql = new SQL(theirs.url, { max: 1 })
  for (const table of schema) await sql.unsafe(`create table ${table}`)
  for (const [table, all] of Object.entries(rows))
    for (const row of all)
      await sql.unsafe(
        `insert into "${table}" select * from json_populate_record(null::"${table}", $1::json)`.replace(
          'select *',
          `(${Object.keys(row).join()}) select ${Object.keys(row).join()}`,
        ),
        [row],
      )
  await sql.close()
  it = await openImports()
})
afterAll(async () => {
  await it.stop()
  await theirs.stop()
})

const made = ({ changes }: { changes: readonly { what: string; how: string }[] }) =>
  changes.filter(({ how }) => how === 'create').map(({ what }) => what)
test('keys of LiteLLM call with the values that they have, within what was left of their budgets', async () => {
  const [dry, first] = await it.asDocumented('litellm', { '--from': theirs.url })
  expect(made(dry).length).toBeGreaterThan(5)
  expect(made(first)).toEqual(made(dry))
  expect(JSON.stringify(first)).not.toContain('"key":"sk-')
  const answers = Object.fromEntries(
    await Promise.all(Object.entries(values).map(async ([name, value]) => [name, await it.call(value)])),
  )
  expect(answers).toEqual({
    app: 'chat.completion',
    spent: 402,
    blocked: 403,
    expired: 401,
    ofUser: 'chat.completion',
    free: 'chat.completion',
    elsewhere: 403,
    ofBlockedTeam: 403,
  })
  expect([await it.call(values.app, 'fast'), await it.call(values.ofUser, 'mine')]).toEqual(
    Array(2).fill('chat.completion'),
  )
  const shown = await it.keysShown()
  expect(shown('app')).toMatchObject({
    label: 'app',
    prefix: 'sk-...aaaa',
    spend_cap_usd: 5,
    rpm_limit: null,
    allowed_models: [MODEL],
  })
  expect(shown('free')).toMatchObject({ spend_cap_usd: 0.3, allowed_models: null })
  expect(shown('key_team_t1')).toMatchObject({ monthly_cap_usd: 50, rpm_limit: 50 })
  expect(shown('key_organisation_o1')).toMatchObject({ spend_cap_usd: 100 })
  expect(shown('key_user_u1')).toMatchObject({ spend_cap_usd: 10 })
  const spent = ['spent', 'key_team_t1', 'key_organisation_o1', 'key_user_u1'].map(
    (name) => shown(name).spent_usd,
  )
  expect(spent.map((usd) => Math.floor(usd * 10) / 10)).toEqual([1.5, 3, 99, 2.5])
  expect(first.told).toEqual([
    'key app: not sold here, or not allowed above it: gpt-of-nobody',
    'key expired: left out, it expired at 2020-01-01T00:00:00',
    'user ann@example.com: a budget per 14d has no place here; it became its spend_cap_usd',
    'user ann@example.com: max_parallel_requests 3 has no place here',
    'key elsewhere: not sold here, or not allowed above it: gpt-of-nobody',
    'key elsewhere: none of its models is sold here, so it is disabled',
    'key master: left out, its value is sk-1234, which everybody knows',
    '1 budget of members within their team has no place here',
    "1 person has no account here; invite them with 'turnpike person'",
  ])
})

test('a second run changes nothing, nor does a file with the same tables', async () => {
  const file = join(it.folder, 'litellm.json')
  writeFileSync(file, JSON.stringify(rows))
  for (const from of [theirs.url, file]) {
    const again = await it.importing('litellm', from, '--fund', '100')
    expect(again.changes).toEqual([])
  }
  const { out } = await it.run('wallet', 'show', 'wal_litellm_o1', '--json')
  expect(JSON.parse(out).balance_usd).toBeLessThanOrEqual(100)
})

test('all keys come with what they spent, also after a kill in the middle, and official clients call with their values', async () => {
  const valueAt = (at: number) => `sk-of-many-people-${at}`
  const tokens = Array.from({ length: MANY }, (_one, at) =>
    key(valueAt(at), `many ${at}`, {
      max_budget: 10,
      spend: at / 1_000,
      budget_duration: at % 2 ? '30d' : null,
    }),
  )
  const sql = new SQL(theirs.url, { max: 1 })
  await sql`insert into "LiteLLM_VerificationToken" (token, key_name, key_alias, max_budget, spend, budget_duration)
    select token, key_name, key_alias, max_budget, spend, budget_duration
    from json_populate_recordset(null::"LiteLLM_VerificationToken", ${tokens}::json)`
  await sql.close()
  const killed = it.begin('litellm', theirs.url)
  await until(async () => (await it.keysShown())('many 3') !== undefined)
  killed.kill('SIGKILL')
  await killed.exited
  const { changes } = await it.importing('litellm', theirs.url, '--fund', '100')
  expect(changes.length).toBeLessThan(MANY)
  expect((await it.importing('litellm', theirs.url, '--fund', '100')).changes).toEqual([])
  const shown = await it.keysShown()
  const spent = tokens.map(({ key_alias }) => shown(key_alias).spent_usd)
  expect(spent).toEqual(tokens.map((_token, at) => at / 1_000))
  expect([shown('many 5').spent_this_month_usd, shown('many 6').spent_this_month_usd]).toEqual([0.005, 0])
  expect([await it.call(valueAt(0)), await it.call(valueAt(MANY - 1))]).toEqual(
    Array(2).fill('chat.completion'),
  )
  const anthropic = new Anthropic({ apiKey: valueAt(7), baseURL: it.address, maxRetries: 0 })
  const message = { model: MODEL, max_tokens: 5, messages: [{ role: 'user' as const, content: 'hi' }] }
  expect((await anthropic.messages.create(message)).type).toBe('message')
})

test('a key that was deleted here or went to another organisation there is told and left out, with what is new below', async () => {
  const file = join(it.folder, 'later.json')
  const table = (...tokens: object[]) =>
    writeFileSync(
      file,
      JSON.stringify({
        LiteLLM_OrganizationTable: [
          { organization_id: 'a', budget_id: 'none' },
          { organization_id: 'b', budget_id: 'none' },
        ],
        LiteLLM_TeamTable: [{ team_id: 'later', organization_id: 'a', rpm_limit: 70 }],
        LiteLLM_VerificationToken: tokens,
      }),
    )
  const [moved, gone, below] = ['moved', 'gone', 'below'].map((name) => `sk-later-keys-${name}`) as [
    string,
    string,
    string,
  ]
  table(
    key(moved, 'moved', { organization_id: 'a' }),
    key(gone, 'gone', { organization_id: 'a', team_id: 'later' }),
  )
  await it.importing('litellm', file)
  const shown = await it.keysShown()
  expect((await it.run('key', 'delete', shown('gone').id)).code).toBe(0)
  expect((await it.run('key', 'delete', 'key_team_later')).code).toBe(0)
  table(
    key(moved, 'moved', { organization_id: 'b' }),
    key(gone, 'gone', { organization_id: 'a', team_id: 'later' }),
    key(below, 'below', { organization_id: 'a', team_id: 'later' }),
    key('sk-later-keys-other', 'other', { organization_id: 'a' }),
  )
  for (const more of [['--dry-run'], []]) {
    const { changes, told } = await it.importing('litellm', file, ...more)
    expect(changes.map(({ what, id }: any) => [what, id])).toEqual([
      ['organisation', 'org_litellm_b'],
      ['key', `key_litellm_${sha256('sk-later-keys-other').slice(0, 40)}`],
    ])
    expect(told).toEqual([
      'key moved: left out, it is a key of org_litellm_a here and stays that, while there it would be one of org_litellm_b',
      'key team later: left out, it was deleted here, for good',
      'key gone: left out, it was deleted here, for good',
      'key below: left out, the key above it, key_team_later, is left out',
    ])
  }
})

test('times as psql writes them are read, and what is no time is named by its row', async () => {
  const file = join(it.folder, 'times.json')
  const table = (expires: string) =>
    writeFileSync(
      file,
      JSON.stringify({ LiteLLM_VerificationToken: [key('sk-of-some-time-there', 'timed', { expires })] }),
    )
  for (const [expires, shown] of [
    ['2998-01-01 00:00:00+00', '2998-01-01T00:00:00.000Z'],
    ['2998-01-01 02:00:00.5+02', '2998-01-01T00:00:00.500Z'],
    ['2998-01-01T00:00:00', '2998-01-01T00:00:00.000Z'],
    ['2998-01-01', '2998-01-01T00:00:00.000Z'],
  ] as const) {
    table(expires)
    await it.importing('litellm', file)
    expect((await it.keysShown())('timed').expires_at).toBe(shown)
  }
  table('soon')
  const { code, errors } = await it.run('import', 'litellm', '--from', file)
  expect([code, errors]).toEqual([
    1,
    `turnpike: ${file} cannot be read: LiteLLM_VerificationToken, row 0, expires: must be a time\n`,
  ])
})

test('what cannot be read is said in one line', async () => {
  const file = join(it.folder, 'wrong.json')
  const failed = async (from: string) => {
    const { code, errors } = await it.run('import', 'litellm', '--from', from)
    return [code, errors]
  }
  writeFileSync(file, '{"users": []}')
  expect(await failed(file)).toEqual([
    1,
    `turnpike: ${file} has no table LiteLLM_VerificationToken; is it the database of LiteLLM's proxy?\n`,
  ])
  writeFileSync(file, '{"LiteLLM_VerificationToken": [{"token": 5}]}')
  expect((await failed(file))[1]).toContain('LiteLLM_VerificationToken, row 0, token')
  expect((await failed(join(it.folder, 'none.json')))[1]).toContain('none.json cannot be read')
})

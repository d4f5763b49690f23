/** `turnpike apply`: a file makes the house once, a second run changes nothing, and drift is told without a change. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetchAgain } from '../late-ledger.ts'
import { beginProgram, endPrograms, ownProgram, runCommand, runProgram, startProgram } from '../program.ts'
import { until } from '../until.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-apply-'))
const settings = { DATABASE_URL: `sqlite:${folder}/ledger.db`, CONSOLE: 'off' }
const file = join(folder, 'house.yaml')
let address = ''
beforeAll(async () => {
  address = (await startProgram(folder, settings)).address
})
afterAll(async () => {
  await endPrograms()
  rmSync(folder, { recursive: true })
})

const run = (...args: string[]) => runProgram(folder, settings, ...args)
const applyWith = async (more: Readonly<Record<string, string>>, ...args: string[]) => {
  const own = { ...settings, ...more }
  const { code, out, errors } = await runProgram(folder, own, 'apply', '-f', file, '--json', ...args)
  expect(errors).toBe('')
  return { code, changes: JSON.parse(out).changes }
}
const apply = (...args: string[]) => applyWith({}, ...args)
/** Writes a file of one organisation with these keys, and perhaps more. */
const writeKeys = (organisation: string, keys: string, more = '') =>
  writeFileSync(file, `organisations: { ${organisation}: { name: Keys, ${more} keys: { ${keys} } } }\n`)
/** What is refused, by a dry run as by one that makes. */
const refused = async (): Promise<string> => {
  const [dry, made] = [await run('apply', '-f', file, '--dry-run'), await run('apply', '-f', file)]
  expect([dry.code, dry.out, made.code, made.out]).toEqual([1, '', 1, ''])
  expect(dry.errors).toBe(made.errors)
  return made.errors
}
const house = (dailyLimit: string) => `organisations:
  org_acme:
    name: Acme
    rules: { daily_limit_usd: "${dailyLimit}" }
    credit: { limit_usd: 500, net_days: 30 }
    margin_percent: 12.5
    keys:
      key_acme_root: { label: root, can_manage: true }
      key_acme_app:
        { label: app, parent: key_acme_root, spend_cap_usd: 25, rpm_limit: 60, expires_at: "2999-01-31",
          allowed_models: [local/echo-1], allowed_addresses: [10.0.0.0/8], aliases: { fast: local/echo-1 } }
`
const told = (changes: readonly { what: string; id: string; how: string }[]) =>
  changes.map(({ what, id, how }) => [how, what, id])

test('a file is applied once, a second run changes nothing, and drift is shown and mended', async () => {
  writeFileSync(file, house('9'))
  const all = [
    ['create', 'organisation', 'org_acme'],
    ['change', 'rules', 'org_acme'],
    ['create', 'credit', 'org_acme'],
    ['create', 'key', 'key_acme_root'],
    ['create', 'key', 'key_acme_app'],
    ['change', 'margin', 'org_acme'],
  ]
  const dry = await apply('--dry-run')
  expect([dry.code, told(dry.changes)]).toEqual([2, all])
  const made = await apply()
  expect([made.code, told(made.changes)]).toEqual([0, all])
  expect(made.changes[4]).toMatchObject({
    fields: expect.arrayContaining([{ field: 'spend_cap_usd', before: null, after: '25' }]),
    key: expect.stringMatching(/^sk-/),
  })
  expect(await apply()).toEqual({ code: 0, changes: [] })
  expect(await apply('--dry-run')).toEqual({ code: 0, changes: [] })
  writeFileSync(file, house('7.5'))
  await runProgram(folder, settings, 'key', 'limits', 'key_acme_app', '--spend-cap', '99')
  const drift = [
    {
      what: 'rules',
      id: 'org_acme',
      how: 'change',
      fields: [{ field: 'daily_limit_usd', before: '9', after: '7.5' }],
    },
    {
      what: 'key',
      id: 'key_acme_app',
      how: 'change',
      fields: [{ field: 'spend_cap_usd', before: '99', after: '25' }],
    },
  ]
  for (let times = 0; times < 2; times++)
    expect(await apply('--dry-run')).toEqual({ code: 2, changes: drift })
  expect(await apply()).toEqual({ code: 0, changes: drift })
  expect(await apply()).toEqual({ code: 0, changes: [] })
})

test('a file with a wrong member is refused by its name', async () => {
  writeFileSync(file, 'organisations: { org_acme: { name: Acme, rules: { daily_limit: 5 } } }\n')
  const { code, errors } = await runProgram(folder, settings, 'apply', '-f', file)
  expect([code, errors]).toEqual([1, expect.stringContaining("'daily_limit' is not a rule")])
})

test('what was done before a refusal is told, with the values of keys, which are shown nowhere else', async () => {
  const keys = '{ key_half_one: { label: first }, key_half_two: { label: second, spend_cap_usd: -1 } }'
  writeFileSync(file, `organisations: { org_half: { name: Half, keys: ${keys} } }\n`)
  const { code, out, errors } = await runProgram(folder, settings, 'apply', '-f', file, '--json')
  expect([code, errors]).toEqual([1, expect.stringContaining("'spend_cap_usd'")])
  const { changes } = JSON.parse(out)
  expect(told(changes)).toEqual([
    ['create', 'organisation', 'org_half'],
    ['create', 'key', 'key_half_one'],
  ])
  expect(changes[1].key).toMatch(/^sk-/)
})

test('a tenant that nothing makes is refused before anything is changed', async () => {
  const tenants = '{ key_nobody: { margin_percent: 5 } }'
  writeFileSync(file, `organisations: { org_none: { name: None, tenants: ${tenants} } }\n`)
  for (const dry of [['--dry-run'], []]) {
    const { code, out, errors } = await runProgram(folder, settings, 'apply', '-f', file, ...dry)
    expect([code, out, errors]).toEqual([1, '', expect.stringContaining("There is no tenant 'key_nobody'")])
  }
})

test('the example of docs/control.md is applied as it stands on a new server', async () => {
  const [, example = ''] = /```yaml\n([^`]+)```/.exec(readFileSync('docs/control.md', 'utf8')) ?? []
  writeFileSync(file, example.replaceAll('acme', 'example').replaceAll('tenant_one', 'example_one'))
  expect((await apply()).code).toBe(0)
  expect(await apply()).toEqual({ code: 0, changes: [] })
})

test('the tags of a key are those of the file', async () => {
  const tagged = (team: string) => writeKeys('org_tags', `key_tags: { label: it, tags: { team: ${team} } }`)
  tagged('red')
  await apply()
  tagged('blue')
  const tags = (team: string) => ({ team: { value: team, fixed: false } })
  const fields = [{ field: 'tags', before: tags('red'), after: tags('blue') }]
  const changes = [{ what: 'key', id: 'key_tags', how: 'change', fields }]
  expect(await apply('--dry-run')).toEqual({ code: 2, changes })
  expect(await apply()).toEqual({ code: 0, changes })
  expect(await apply()).toEqual({ code: 0, changes: [] })
})

test('a second run changes nothing, however the file writes models, names and their order', async () => {
  const openai = { OPENAI_API_KEY: 'sk-none' }
  const named = (aliases: string) =>
    writeKeys(
      'org_again',
      `key_again: { label: it, allowed_models: [gpt-4o-mini], aliases: { ${aliases} } },
       key_over: { label: over, expires_at: "2020-01-31", disabled: false }`,
    )
  named('slow: local/echo-1, fast: openai/gpt-4o-mini')
  await applyWith(openai)
  expect(await applyWith(openai)).toEqual({ code: 0, changes: [] })
  named('fast: openai/gpt-4o-mini, slow: local/echo-1')
  expect(await applyWith(openai, '--dry-run')).toEqual({ code: 0, changes: [] })
  // What is not sold any more is in the way of a change alone.
  writeFileSync(file, readFileSync(file, 'utf8').replace('gpt-4o-mini]', 'openai/gpt-4o-mini]'))
  expect(await apply()).toEqual({ code: 0, changes: [] })
})

test('a key of another organisation, or one that was deleted, is refused and not taken for that of the file', async () => {
  const two = 'org_two: { name: Two, keys: { key_same: { label: it } } }'
  const one = 'org_one: { name: One, keys: { key_same: { label: it } } }'
  writeFileSync(file, `organisations: { ${one}, ${two} }\n`)
  expect(await refused()).toContain('key key_same: it is a key of org_one: a key of org_two needs another id')
  writeFileSync(file, `organisations: { ${one} }\n`)
  await apply()
  writeFileSync(file, `organisations: { ${two} }\n`)
  expect(await refused()).toContain('key key_same: it is a key of org_one: a key of org_two needs another id')
  writeKeys('org_two', 'key_below: { label: it, parent: key_same }')
  expect(await refused()).toContain("key key_below: its 'parent', 'key_same', is no key of org_two")
  await run('key', 'delete', 'key_same')
  writeFileSync(file, `organisations: { ${one} }\n`)
  expect(await refused()).toContain('key key_same: it was deleted')
})

test('keys are made in the order in which they need each other', async () => {
  const [top, mid] = ['key_top: { label: top, can_manage: true }', 'key_mid: { label: mid, parent: key_top }']
  writeKeys('org_order', `key_leaf: { label: leaf, parent: key_mid }, ${mid}, ${top}`)
  const { code, changes } = await apply()
  const made = ['org_order', 'key_top', 'key_mid', 'key_leaf']
  expect([code, changes.map(({ id }: { id: string }) => id)]).toEqual([0, made])
  expect(await apply()).toEqual({ code: 0, changes: [] })
})

test('a key below itself or below none, and an id that none can have, are refused before anything is changed', async () => {
  writeKeys('org_round', 'key_a: { label: a, parent: key_b }, key_b: { label: b, parent: key_a }')
  expect(await refused()).toContain("'key_a' is below itself")
  writeKeys('org_round', 'key_a: { label: a, parent: key_nobody }')
  expect(await refused()).toContain("key key_a: its 'parent', 'key_nobody', is no key of org_round")
  writeKeys('org_ids', 'key_first_of: { label: first }, second: { label: second }')
  expect(await refused()).toContain("key second: 'key' must begin with key_")
  writeKeys('ids', 'key_first_of: { label: first }')
  expect(await refused()).toContain("ids: 'organisation' must begin with org_")
})

test('a refusal names the key, or whose rules they are', async () => {
  writeKeys('org_named', 'key_named_one: { label: one }, key_named_two: { label: two, rpm_limit: 0 }')
  expect((await run('apply', '-f', file)).errors).toContain("key key_named_two: 'rpm_limit' must be")
  writeKeys('org_named', '', 'rules: { daily_limit_usd: much },')
  expect((await run('apply', '-f', file)).errors).toContain("rules of org_named: 'daily_limit_usd' must be")
})

test('a margin that applies from the next month on is no difference until then', async () => {
  const priced = (percent: number) =>
    writeKeys(
      'org_price',
      'key_price_root: { label: root, can_manage: true }, key_price_one: { label: one, parent: key_price_root }',
      `rules: { tenants_see: price }, margin_percent: ${percent},
       tenants: { key_price_one: { margin_percent: ${percent + 5} } },`,
    )
  priced(10)
  const { changes } = await apply()
  const { key } = changes.find(({ id }: { id: string }) => id === 'key_price_one')
  await run('wallet', 'fund', '--wallet', 'wal_price', '--usd', '5')
  const { status } = await fetchAgain(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/echo-1', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  expect(status).toBe(200)
  const use = () => run('usage', '--by', 'key', '--organisation', 'org_price', '--json')
  await until(async () => JSON.parse((await use()).out).length > 0)
  for (const percent of [20, 10]) {
    priced(percent)
    const next = await apply()
    expect([next.code, told(next.changes)]).toEqual([
      0,
      [
        ['change', 'margin', 'org_price'],
        ['change', 'margin', 'key_price_one'],
      ],
    ])
    expect(await apply()).toEqual({ code: 0, changes: [] })
    expect(await apply('--dry-run')).toEqual({ code: 0, changes: [] })
  }
})

test('a pipe that is read late gets all that was told before a refusal', async () => {
  const label = 'x'.repeat(150)
  const many = Array.from({ length: 500 }, (_, at) => `key_much_${at}: { label: ${label} }`)
  writeKeys('org_much', [...many, 'key_much_last: { label: last, rpm_limit: 0 }'].join(', '))
  /** Reads nothing before the command has said why it fails. */
  const late = '"$@" 2>why | { until [ -s why ]; do sleep 0.05; done; cat; }'
  const told = async (...args: string[]) => {
    rmSync(join(folder, 'why'), { force: true })
    const piped = ['sh', '-c', late, 'sh', ownProgram, 'apply', '-f', file, '--dry-run']
    return (await runCommand(piped, folder, settings, ...args)).out
  }
  expect(JSON.parse(await told('--json')).changes.length).toBe(501)
  expect((await told()).trimEnd().split('\n').length).toBe(501)
})

test('whoever ends it on the way has the values of all keys that were made', async () => {
  const many = Array.from({ length: 300 }, (_, at) => `key_ended_${at}: { label: ended }`)
  writeKeys('org_ended', many.join(', '))
  const child = beginProgram(folder, settings, 'apply', '-f', file)
  let out = ''
  let ended = false
  for await (const piece of child.stdout) {
    out += new TextDecoder().decode(piece)
    if (ended || !out.includes('sk-')) continue
    ended = true
    child.kill('SIGTERM')
  }
  expect(await child.exited).toBe(1)
  const shown = [...out.matchAll(/create key (key_ended_\d+).*\n {2}its value, shown only now: sk-/g)]
  const all: readonly { id: string }[] = JSON.parse((await run('key', 'list', '--json')).out)
  const made = all.map(({ id }) => id).filter((id) => id.startsWith('key_ended_'))
  expect(shown.map(([, id = '']) => id).toSorted()).toEqual(made.toSorted())
  expect(made.length).toBeLessThan(300)
})

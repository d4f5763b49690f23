/** `turnpike person`, `events` and `roll-up`: the people of the console from the command line. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endPrograms, runProgram, startProgram } from '../program.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-people-'))
afterAll(async () => {
  await endPrograms()
  rmSync(folder, { recursive: true })
})

const settings = { DATABASE_URL: `sqlite:${folder}/ledger.db`, CONSOLE_ORIGIN: 'https://c.test' }
const run = (...args: string[]) => runProgram(folder, settings, ...args)
const json = async (...args: string[]) => {
  const { code, out, errors } = await run(...args, '--json')
  expect([args.join(' '), code, errors]).toEqual([args.join(' '), 0, ''])
  return JSON.parse(out)
}

test('people are invited, listed, made operators, given links; what was done is listed, and sums are made', async () => {
  await startProgram(folder, { ...settings, CONSOLE: 'off' })
  const wallet = await json('wallet', 'create', '--name', 'Acme')
  const org = `org_${wallet.id.slice(4)}`
  const invited = await json('person', 'invite', 'Ada@Example.com', '--org', org, '--role', 'owner')
  expect(invited).toMatchObject({ email: 'ada@example.com', org, role: 'owner' })
  expect(invited.link).toMatch(/^https:\/\/c\.test\/console\/link#[\w-]{43}$/)
  for (const [args, expected] of [
    [['invite', 'no address', '--org', org], "'no address' is not an e-mail address"],
    [['invite', 'x@example.com', '--org', 'nowhere'], "there is no organisation 'nowhere'"],
    [['invite', 'x@example.com', '--org', org, '--role', 'king'], '--role must be one of owner'],
    [['invite', 'ada@example.com', '--org', org, '--role', 'viewer'], 'the organisation needs an owner'],
    [['operator', 'x@example.com'], "there is no person 'x@example.com'"],
    [['reset-link', 'x@example.com'], "there is no person 'x@example.com'"],
  ] as const) {
    const { code, errors } = await run('person', ...args)
    expect([code, errors]).toEqual([1, expect.stringContaining(expected)])
  }
  expect(await json('person', 'operator', 'ada@example.com')).toMatchObject({ operator: true })
  expect(await json('person', 'list')).toEqual([
    { id: invited.id, email: 'ada@example.com', name: 'Ada', operator: true, organisations: `${org}:owner` },
  ])
  expect(await json('person', 'operator', 'ada@example.com', '--off')).toMatchObject({ operator: false })
  const { link } = await json('person', 'reset-link', 'ADA@example.com')
  expect(link).not.toBe(invited.link)
  const events = await json('events')
  expect(events.map(({ what }: { what: string }) => what)).toEqual([
    'person.link_made',
    'operator.removed',
    'operator.added',
    'member.added',
    'wallet.created',
  ])
  expect((await json('events', '--org', org)).length).toBe(2)
  expect(await json('events', '--org', 'people')).toHaveLength(1)
  expect(await run('events', '--org', 'nobody')).toMatchObject({
    code: 1,
    errors: expect.stringContaining("there is no organisation 'nobody'; 'turnpike wallet list' shows them"),
  })
  const { until } = await json('roll-up', '--rebuild')
  expect(Date.parse(until)).toBeLessThan(Date.now())
})

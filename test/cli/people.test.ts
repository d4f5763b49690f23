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
  const { address } = await startProgram(folder, settings)
  const wallet = await json('wallet', 'create', '--name', 'Acme')
  const org = `org_${wallet.id.slice(4)}`
  const invited = await json('person', 'invite', 'Ada@Example.com', '--org', org, '--role', 'owner')
  expect(invited).toMatchObject({ email: 'ada@example.com', org, role: 'owner' })
  expect(invited.link).toMatch(/^https:\/\/c\.test\/console\/link#[\w-]{43}$/)
  for (const [args, expected] of [
    [['invite', 'no address', '--org', org], "'no address' is not an e-mail address"],
    [['invite', 'x@example.com', '--org', 'nowhere'], "there is no organisation 'nowhere'"],
    [['invite', 'x@example.com', '--org', org, '--role', 'king'], '--role must be one of owner'],
    [['operator', 'x@example.com'], "there is no person 'x@example.com'"],
    [['reset-link', 'x@example.com'], "there is no person 'x@example.com'"],
  ] as const) {
    const { code, errors } = await run('person', ...args)
    expect([code, errors]).toEqual([1, expect.stringContaining(expected)])
  }
  // The account may be somebody else's until a link of ours was used.
  const early = await run('person', 'operator', 'ada@example.com')
  expect([early.code, early.errors]).toEqual([1, expect.stringContaining('turnpike person reset-link')])
  expect((await run('person', 'invite', 'ada@example.com', '--org', org)).code).toBe(1)
  const origin = 'https://c.test'
  const used = await fetch(`${address}/console/api/session/link`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ token: invited.link.split('#')[1], password: 'a long password' }),
  })
  expect(used.status).toBe(200)
  expect(await json('person', 'operator', 'ada@example.com')).toMatchObject({ operator: true })
  const last = await run('person', 'invite', 'ada@example.com', '--org', org, '--role', 'viewer')
  expect([last.code, last.errors]).toEqual([1, expect.stringContaining('The organisation needs an owner')])
  expect((await json('person', 'list')).slice(0, 1)).toEqual([
    { id: invited.id, email: 'ada@example.com', name: 'Ada', operator: true, organisations: `${org}:owner` },
  ])
  expect(await json('person', 'operator', 'ada@example.com', '--off')).toMatchObject({ operator: false })
  const { link } = await json('person', 'reset-link', 'ADA@example.com')
  expect(link).not.toBe(invited.link)
  const events = await json('events')
  const what = (found: readonly { what: string }[]) => found.map((event) => event.what)
  expect(what(events).slice(0, 3)).toEqual(['person.link_made', 'operator.removed', 'operator.added'])
  expect(what(await json('events', '--org', org))).toEqual(['member.added', 'wallet.created'])
  const ofPeople = ['person.link_made', 'person.signed_in', 'person.password_set', 'person.proved']
  expect(what(await json('events', '--org', 'people'))).toEqual(ofPeople)
  const signIn = () =>
    fetch(`${address}/console/api/session/password`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password: 'a long password' }),
    })
  expect((await signIn()).status).toBe(200)
  await json('person', 'reset-link', 'ada@example.com', '--lost-device')
  expect((await signIn()).status).toBe(401)
  expect(await run('events', '--org', 'nobody')).toMatchObject({
    code: 1,
    errors: expect.stringContaining("there is no organisation 'nobody'; 'turnpike wallet list' shows them"),
  })
  const { until } = await json('roll-up', '--rebuild')
  expect(Date.parse(until)).toBeLessThan(Date.now())

  // The last owner cannot go; a customer can, with its people and keys.
  const kept = await run('person', 'remove', 'ada@example.com')
  expect([kept.code, kept.errors]).toEqual([1, expect.stringContaining('without an owner')])
  await json('person', 'invite', 'bob@example.com', '--org', org)
  expect(await json('person', 'remove', 'Bob@example.com')).toMatchObject({
    removed: { people: 1 },
    kept: expect.arrayContaining([expect.stringContaining('postings')]),
  })
  const key = await json('key', 'create', '--wallet', wallet.id, '--label', 'robot')
  expect(await json('wallet', 'forget', wallet.id)).toMatchObject({ removed: { people: 1, keys: 1 } })
  expect(await json('person', 'list')).not.toContainEqual(
    expect.objectContaining({ email: 'ada@example.com' }),
  )
  const { out } = await run('key', 'list', '--deleted')
  expect([out.includes(key.id), out.includes('robot')]).toEqual([true, false])
  expect((await run('audit')).code).toBe(0)
  for (const [id, said] of [
    ['Acme', "no wallet with the id 'Acme'"],
    ['wal_operator', 'cannot be forgotten'],
  ] as const)
    expect((await run('wallet', 'forget', id)).errors).toContain(said)
})

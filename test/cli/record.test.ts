/** Commands that move money, and what is shown of names that strangers chose: a record of it, and nothing that a terminal obeys. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endPrograms, runProgram, startProgram } from '../program.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-record-'))
const settings = { DATABASE_URL: `sqlite:${folder}/ledger.db`, CONSOLE: 'off' }
let address = ''
beforeAll(async () => {
  address = (await startProgram(folder, settings)).address
})
afterAll(async () => {
  await endPrograms()
  rmSync(folder, { recursive: true })
})

const run = (...args: string[]) => runProgram(folder, settings, ...args)
const json = async (...args: string[]) => {
  const { code, out, errors } = await run(...args, '--json')
  expect([args.join(' '), code, errors]).toEqual([args.join(' '), 0, ''])
  return JSON.parse(out)
}

test('money that commands move is recorded with it, once, under the organisation and the command', async () => {
  const { id, organisation } = await json('wallet', 'create', '--name', 'Acme')
  const ofWallet = ['--wallet', id]
  await json('wallet', 'fund', ...ofWallet, '--usd', '7.5', '--ref', 'bank 1')
  await json('wallet', 'fund', ...ofWallet, '--usd', '7.5', '--ref', 'bank 1')
  await json('wallet', 'withdraw', ...ofWallet, '--usd', '2', '--ref', 'back 1')
  await json('wallet', 'withdraw', ...ofWallet, '--usd', '2', '--ref', 'back 1')
  await json('credit', 'grant', ...ofWallet, '--usd', '40')
  const { id: key } = await json('key', 'create', ...ofWallet, '--label', 'mine')
  await json('key', 'disable', key)
  const events = await json('events', '--org', organisation)
  const told = ({ what, actor, after }: { what: string; actor: { name: string }; after: object }) => [
    what,
    actor.name,
    after,
  ]
  expect(events.map(told)).toEqual([
    ['key.disabled', 'turnpike key disable', { label: 'mine', disabled: 'operator' }],
    ['key.created', 'turnpike key create', expect.objectContaining({ label: 'mine' })],
    ['credit_line.granted', 'turnpike credit grant', { limit_usd: '40', net_days: 14 }],
    ['wallet.withdrawn', 'turnpike wallet withdraw', { amount_usd: '2', note: 'back 1' }],
    ['wallet.funded', 'turnpike wallet fund', { amount_usd: '7.5', note: 'bank 1' }],
    ['wallet.created', 'turnpike wallet create', { label: 'Acme' }],
  ])
  const { code, errors } = await run('wallet', 'fund', ...ofWallet, '--usd', '9', '--ref', 'bank 1')
  expect([code, errors]).toEqual([
    1,
    'turnpike: the reference bank 1 was used for another payment; nothing changed\n',
  ])
})

test('a list of events says that there are older ones, and goes on before one', async () => {
  for (const name of ['one', 'two', 'three']) await json('wallet', 'create', '--name', name)
  const all = await json('events')
  const newest = await run('events', '--limit', '2', '--json')
  const two: readonly { id: string }[] = JSON.parse(newest.out)
  const next = two[1]?.id ?? ''
  expect([two, newest.errors]).toEqual([all.slice(0, 2), `older ones: --before ${next}\n`])
  expect((await run('events', '--limit', '2')).out).toContain(`older ones: --before ${next}\n`)
  expect(await json('events', '--before', next)).toEqual(all.slice(2))
})

test('a link that signs somebody in is recorded', async () => {
  const { id } = await json('person', 'invite', 'ada@example.com')
  await json('person', 'reset-link', 'ada@example.com')
  expect((await json('events'))[0]).toMatchObject({ what: 'person.link_made', subject: id, orgId: 'people' })
})

test('names that callers chose cannot tell the terminal of the operator anything', async () => {
  const { key } = await json('key', 'create', '--label', 'reseller', '--can-manage', 'on')
  const named = async (label: string) => {
    const made = await fetch(`${address}/v1/key/wholesale`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ label }),
    })
    return { status: made.status, body: await made.json() }
  }
  const label = 'a\u001b]0;title\u0007\n\u009b31m\u202egnp'
  expect(await named(label)).toMatchObject({
    status: 400,
    body: { error: { param: 'label', message: expect.stringContaining('one line of text') } },
  })
  const { data } = (await named('plain')).body as { data: { id: string } }
  // Labels of former versions are there still.
  const ledger = new Database(join(folder, 'ledger.db'))
  ledger.run('UPDATE api_key SET label = ? WHERE id = ?', [label, data.id])
  ledger.close()
  for (const args of [['key', 'list'], ['key', 'disable', data.id], ['events']]) {
    const { code, out } = await run(...args)
    expect([args.join(' '), code]).toEqual([args.join(' '), 0])
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be there.
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  }
  expect((await run('key', 'list')).out).toContain('a�]0;title���31m�gnp')
})

test('a key and a wallet have a name that people can read', async () => {
  for (const [args, expected] of [
    [['key', 'create', '--label', ' '], '--label is required: who uses the key, in at most 200 characters'],
    [['key', 'create', '--label', 'x'.repeat(201)], '--label must have at most 200 characters'],
    [['wallet', 'create', '--name', ''], '--name is required: whose it is, in at most 200 characters'],
  ] as const) {
    const { code, errors } = await run(...args)
    expect([code, errors]).toEqual([1, expect.stringContaining(expected)])
  }
})

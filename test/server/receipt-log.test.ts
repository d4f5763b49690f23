/**
 * The log of receipts: two processes make one log, and the stranger's program of docs/receipt-log.md finds a receipt that is
 * missing, a second one or another in the log, and a log that was cut, rewritten or forked.
 */
import { expect, test } from 'bun:test'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { perform } from '../../src/control/act.ts'
import { logDay } from '../../src/control/reports/log-day.ts'
import { whoIsCommand } from '../../src/control/who.ts'
import { growLog } from '../../src/gateway/keep-sealing.ts'
import { claimsOf } from '../../src/receipts/claims.ts'
import { entryHash } from '../../src/receipts/log-leaf.ts'
import { provesInclusion } from '../../src/receipts/merkle.ts'
import { signReceipt } from '../../src/receipts/token.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/port.ts'
import { openView } from '../chaos/view.ts'
import { brokenLaws, engines, stopSound } from '../store/engines.ts'
import { tempFolder } from '../temp-folder.ts'
import { chat, jsonOf, startTestServer } from './harness.ts'

const MINUTES = 60_000
const DAY_MS = 86_400_000

/** What people who can write to the database can do first. */
const unguarded = {
  sqlite: ['drop trigger transfer_no_update'],
  postgres: ['alter table transfer disable trigger user'],
} as const

const program = async (folder: string): Promise<string> => {
  const page = await readFile(join(import.meta.dir, '../../docs/receipt-log.md'), 'utf8')
  const code = /```js\n([\s\S]*?)\n```/.exec(page)?.[1] ?? ''
  expect(code.split('\n').length).toBeLessThanOrEqual(60)
  await writeFile(join(folder, 'check-log.mjs'), code)
  return join(folder, 'check-log.mjs')
}

const scene = async (engine: (typeof engines)[number]) => {
  const database = await engine.fresh()
  const server = await startTestServer({ url: database.url })
  // The processes that add to the log have clocks of their own: calls need not grow old for it.
  let ahead = 0
  const now = () => Date.now() + ahead
  const [one, two] = await Promise.all([0, 1].map(() => openStore({ url: database.url, now })))
  if (one === undefined || two === undefined) throw new Error('no stores')
  const folder = await tempFolder('turnpike-log-')
  const checker = await program(folder)
  const listening = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: server.fetch })
  const view = openView(database.url)
  for (const text of unguarded[server.store.engine]) await view.rows(text)
  const keys = server.gateway.receipts?.keys
  const grow = (stores: readonly Store[] = [one, two]) =>
    Promise.all(stores.map(({ log }) => growLog({ receipts: log, keys })))
  await grow()
  const call = async (): Promise<string> => {
    const answer = await server.post('/v1/chat/completions', chat())
    return answer.headers.get('x-receipt') ?? ''
  }
  return {
    ...{ server, one, two, view, grow, folder, keys },
    later: (ms: number) => {
      ahead += ms
    },
    calls: async (count: number): Promise<string[]> => {
      const receipts: string[] = []
      while (receipts.length < count) receipts.push(await call())
      return receipts
    },
    /** What the stranger's program says of receipts; their last end is kept under a name. */
    check: async (receipts: readonly string[], kept = 'head.json'): Promise<string> => {
      await writeFile(join(folder, 'receipts.txt'), receipts.join('\n'))
      const files = [join(folder, kept), join(folder, 'receipts.txt')]
      const child = Bun.spawn(['node', checker, `http://127.0.0.1:${listening.port}`, ...files], {
        stdout: 'pipe',
        stderr: 'pipe',
      })
      const [out, errors] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ])
      expect([await child.exited, errors.trim() !== '']).toEqual(errors === '' ? [0, false] : [1, true])
      return errors.trim() || out.trim()
    },
    head: async () => jsonOf(await server.get('/v1/log/head', '')),
    stop: async () => {
      await listening.stop(true)
      await view.close()
      await Promise.all([one.close(), two.close()])
      await rm(folder, { recursive: true })
      await stopSound(server, database)
    },
  }
}

const callOf = (receipt: string): string =>
  JSON.parse(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString()).request_id

const sound = (receipts: number) =>
  expect.stringMatching(new RegExp(`^${receipts} receipts are sound; the log has`))

for (const engine of engines.filter(({ lasting }) => lasting))
  test(`each receipt is in one log, and what is done to it is found, on ${engine.name}`, async () => {
    const { server, view, grow, folder, later, calls, check, head, keys, ...it } = await scene(engine)
    const empty = await head()
    expect(empty).toMatchObject({ size: 0, promise_seconds: 93_600 })
    const receipts = await calls(5)
    expect(await check(receipts)).toContain(`call ${callOf(receipts[0] ?? '')} is not in the log yet`)
    await grow()
    expect((await head()).size).toBe(0)
    // From here on those processes take what was charged just now for settled.
    later(5 * MINUTES)
    await grow()
    const first = await head()
    expect(first.size).toBeGreaterThanOrEqual(5)
    expect(await check(receipts)).toEqual(sound(5))
    // More than one tile has.
    receipts.push(...(await calls(260)).slice(-5))
    await grow()
    expect(await check(receipts)).toEqual(sound(10))
    const whole = await head()
    expect(whole.size).toBeGreaterThanOrEqual(265)

    // A second receipt for a call that has one: seen by who holds both, and by who holds that one.
    const [some = ''] = receipts
    const charged = await server.store.receipts.chargedCall(callOf(some))
    const signer = keys?.signer()
    if (charged === undefined || signer === undefined) throw new Error('no receipt')
    const second = signReceipt(claimsOf('https://turnpike.test', { ...charged, charged: 7n }), signer)
    expect(await check([...receipts, second])).toBe(`call ${callOf(some)} has two receipts`)
    expect(await check([second])).toBe(`call ${callOf(some)} is another in the log`)

    // What the books say of a call was changed before its entry was added; another one was taken out.
    const [changed = '', missing = '', fine = ''] = await calls(3)
    await view.rows(
      `update usage_detail set input_tokens = input_tokens + 1 where call_id = '${callOf(changed)}'`,
    )
    const [gone] = await view.rows(`select at from transfer where ref = '${callOf(missing)}'`)
    await view.rows(`update transfer set at = 1 where ref = '${callOf(missing)}'`)
    await grow()
    expect(await check([fine, missing])).toContain(`call ${callOf(missing)} is not in the log yet`)
    expect(await check([fine, changed])).toBe(`call ${callOf(changed)} is another in the log`)
    later(27 * 60 * MINUTES)
    await grow()
    expect(await check([fine, missing])).toBe(`call ${callOf(missing)} is missing`)
    await view.rows(`update transfer set at = ${gone?.at} where ref = '${callOf(missing)}'`)

    // What a failover lost is added again as it was: the log follows from the books.
    const saved = await view.rows('select * from log_end')
    const reset = async (row: Readonly<Record<string, unknown>>) => {
      await view.rows('delete from log_tile')
      await view.rows(
        `update log_end set size = 0, root = '${empty.root}', until = ${row.began}, day = ${
          Number(row.began) - (Number(row.began) % DAY_MS)
        }, token = '${empty.head}'`,
      )
    }
    const [row] = saved
    if (row === undefined) throw new Error('no end')
    const before = await head()
    await reset(row)
    await rm(join(folder, 'head.json'))
    await view.rows(`update transfer set at = 1 where ref = '${callOf(missing)}'`)
    await grow([it.two])
    expect(await head()).toMatchObject({ size: before.size, root: before.root })
    expect(await check(receipts)).toEqual(sound(10))

    // Another log: shorter, forked after entries that were shown, or rewritten from an old one on.
    await reset(row)
    expect(await check([fine])).toBe(`the log was cut: it had ${before.size} entries, and has 0`)
    const [old = ''] = receipts
    await view.rows(
      `update usage_detail set output_tokens = output_tokens - 1 where call_id = '${callOf(old)}'`,
    )
    await grow()
    expect(await check([fine])).toMatch(/^the log was rewritten or forked before entry \d+$/)
    await view.rows(`update transfer set at = ${gone?.at} where ref = '${callOf(missing)}'`)
    for (const [call, right] of [
      [old, 'output_tokens = output_tokens + 1'],
      [changed, 'input_tokens = input_tokens - 1'],
    ] as const)
      await view.rows(`update usage_detail set ${right} where call_id = '${callOf(call)}'`)
    // The audit finds it too: the log says otherwise than the books now. Made again from them, it is sound.
    expect((await brokenLaws(server.store)).map(({ check: law }) => law)).toEqual([
      'the log of receipts is what the books say',
    ])
    await reset(row)
    await grow()
    expect(await brokenLaws(server.store)).toEqual([])
    // A hash above the leaves.
    await view.rows(
      'update log_tile set hashes = (select t.hashes from log_tile t where t.level = 0 and t.n = 1) where level = 1',
    )
    expect((await brokenLaws(server.store)).length).toBe(1)
    await reset(row)
    await grow()
    await it.stop()
  })

test('a call that a clock dated back is added after its day; days have their sums; details may go', async () => {
  const [engine] = engines.filter(({ name }) => name === 'SQLite in a file')
  if (engine === undefined) throw new Error('no engine')
  const { server, view, grow, later, calls, check, head, ...it } = await scene(engine)
  // The day is that of the whole log, wherever the clock of this machine is in its day.
  const start = Math.floor(Date.now() / DAY_MS) * DAY_MS
  await view.rows(`update log_end set began = ${start}, until = ${start}, day = ${start}`)
  const receipts = await calls(4)
  const [late = ''] = receipts
  const other = start + (Date.now() - start) / 2
  await view.rows(`update transfer set at = ${start + DAY_MS - 1000} where kind = 'usage'`)
  await view.rows(`update transfer set at = ${Math.floor(other)} where ref = '${callOf(late)}'`)
  await view.rows(`update log_end set until = ${Math.floor(other) + 1}`)
  const day = new Date(start).toISOString().slice(0, 10)
  const shown = () =>
    perform(server.gateway, whoIsCommand('test'), logDay, () => ({ day, wallet: server.wallet }))
  expect(await shown()).toEqual({ data: [] })
  later(start + DAY_MS - Date.now() + 6 * MINUTES)
  await grow()
  const { size, root } = await head()
  expect(size).toBe(5)
  expect(await check(receipts)).toEqual(sound(4))
  const { data } = await shown()
  expect(data.map(({ text }) => JSON.parse(text))).toEqual([
    { account: server.wallet, calls: 4, charged: '0.00024', day, refunded: '0' },
  ])
  for (const { text, salt, index, proof } of data)
    expect(
      provesInclusion(
        entryHash(salt, text),
        { index, size, root: Buffer.from(root, 'hex') },
        proof.map((hash) => Buffer.from(hash, 'hex')),
      ),
    ).toBe(true)
  await view.rows('delete from usage_detail')
  expect((await brokenLaws(server.store)).map(({ check: law }) => law)).toEqual([
    'the log of receipts is what the books say',
  ])
  // Deleted by the rule for old details, they are no edit.
  await view.rows(
    `insert into setting (name, value) values ('details_pruned_until', '${start + 2 * DAY_MS}')`,
  )
  expect(await check(receipts)).toEqual(sound(4))
  await it.stop()
})

test('nothing of an entry is told to who has no receipt of ours, nor to a tenant of another price', async () => {
  const server = await startTestServer()
  expect((await server.get('/v1/log/head', '')).status).toBe(404)
  await growLog({ receipts: server.store.log, keys: server.gateway.receipts?.keys })
  const [id, signer] = [crypto.randomUUID(), server.gateway.receipts?.keys.signer()]
  if (signer === undefined) throw new Error('no key')
  const answer = await server.post('/v1/chat/completions', chat())
  const receipt = answer.headers.get('x-receipt') ?? ''
  const charged = await server.store.receipts.chargedCall(callOf(receipt))
  if (charged === undefined) throw new Error('no charge')
  const claims = claimsOf('https://turnpike.test', charged)
  const priced = signReceipt({ ...claims, cost: { ...claims.cost, priced_by: 'Reseller' } }, signer)
  const status = async (query: string) => (await server.get(`/v1/log/proof?${query}`, '')).status
  for (const asked of ['', `receipt=${id}`, `receipt=${receipt.slice(0, -2)}AA`, `receipt=${priced}`])
    expect([asked, await status(asked)]).toEqual([asked, 400])
  expect(await status(`receipt=${receipt}`)).toBe(404)
  const proof = await jsonOf(await server.get('/v1/log/consistency?from=0&to=0', ''))
  expect(proof).toEqual({ from: 0, to: 0, proof: [] })
  for (const query of ['from=0&to=1', 'from=1&to=0', 'from=-1&to=0', 'to=0'])
    expect((await server.get(`/v1/log/consistency?${query}`, '')).status).toBe(400)
  expect((await server.get('/v1/log/tile?level=0&n=0', '')).status).toBe(404)
  await server.stop()
})

test('its addresses count by network address, as other guests do', async () => {
  const server = await startTestServer({ options: { guestRpm: 4 } })
  const paths = ['head', 'proof', 'consistency?from=0&to=0', 'tile?level=0&n=0', 'head']
  const statuses: number[] = []
  for (const path of paths) statuses.push((await server.get(`/v1/log/${path}`, '')).status)
  expect(statuses).toEqual([404, 400, 404, 404, 429])
  await server.stop()
})

/**
 * The chain of events: processes that seal together make one, people may be forgotten, and both our audit and the stranger's
 * program of docs/events.md find what was changed, is missing or was inserted.
 */
import { expect, test } from 'bun:test'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { perform } from '../../src/control/act.ts'
import { eventAudit, eventChain } from '../../src/control/house/event-chain.ts'
import { whoIsCommand } from '../../src/control/who.ts'
import { silentLog } from '../../src/core/log.ts'
import { keepExporting } from '../../src/export/keep-exporting.ts'
import { sinkOf } from '../../src/export/sinks.ts'
import { eventSource } from '../../src/export/sources.ts'
import { sealAll } from '../../src/gateway/keep-sealing.ts'
import { openStore } from '../../src/store/open-store.ts'
import { byTest } from '../by-test.ts'
import { openView } from '../chaos/view.ts'
import { ensurePerson } from '../console/rig.ts'
import { jsonOf, startTestServer } from '../server/harness.ts'
import { engines, stopSound } from '../store/engines.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'

const HOUR_MS = 3_600_000

const program = async (folder: string): Promise<string> => {
  const page = await readFile(join(import.meta.dir, '../../docs/events.md'), 'utf8')
  const code = /```js\n([^`]*(?:`[^`]+`[^`]*)*)\n```/.exec(page)?.[1] ?? ''
  expect(code.split('\n').length).toBeLessThanOrEqual(62)
  await writeFile(join(folder, 'check-events.mjs'), code)
  return join(folder, 'check-events.mjs')
}

/** What people who can write to the database can do first. */
const unguarded = {
  sqlite: ['drop trigger event_no_update', 'drop trigger event_no_delete'],
  postgres: ['alter table event disable trigger user'],
} as const

/** What the stranger's program says of these lines; null if they are sound. */
const said = async (checker: string, jwks: string, lines: readonly string[]): Promise<string | null> => {
  const child = Bun.spawn([process.execPath, checker, jwks], {
    stdin: new Blob([lines.join('\n')]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const text = await new Response(child.stderr).text()
  return (await child.exited) === 0 ? null : text.trim()
}

for (const engine of engines)
  test(`a signed end that is exported alone has its own time, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    const store = await openStore({ url: database.url })
    const actor = { kind: 'person', id: 'p1', name: 'Ada' } as const
    await store.events.record({ actor, orgId: 'org_test', what: 'key.changed', subject: 'key_1' })
    await store.chain.seal()
    const source = eventSource(store.chain)
    await (await source(10))?.release(true)
    const began = Date.now()
    await store.chain.addHead((await store.chain.end()).seq, 'head')
    const alone = await source(10)
    expect(alone?.batch.lines).toBe('{"head":"head"}\n')
    // The age of what waits and a bucket's folder of the day are made of it.
    expect(alone?.batch.at).toBeGreaterThan(began - HOUR_MS)
    await store.close()
    await database.stop()
  })

for (const engine of engines)
  test(`the exported record is checked as it is, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    let [ahead, fails] = [0, 2]
    const now = () => Date.now() + ahead
    const server = await startTestServer({ url: database.url, now })
    const { store, gateway } = server
    const folder = await tempFolder('turnpike-exported-')
    const [checker, jwks] = [await program(folder), join(folder, 'jwks.json')]
    await writeFile(jwks, JSON.stringify(await jsonOf(await server.get('/.well-known/jwks.json'))))
    const path = join(folder, 'events.jsonl')
    /** Each at least once: a batch is written twice if its claim ends, as the clock leaps here, while it is written. */
    const linesIn = async () => [
      ...new Set((await readFile(path, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '')),
    ]
    const exporters = [1, 2].map(() =>
      keepExporting({
        source: eventSource(store.chain),
        sink: async (batch) => {
          if (fails-- > 0) throw new Error('the sink is away')
          await sinkOf({ file: path })(batch)
        },
        clock: gateway.clock,
        log: silentLog,
        everyMs: 1,
      }),
    )
    const before = { label: 'ada "x"' }
    const actor = { kind: 'person', id: 'p1', name: 'Ada Lovelace' } as const
    for (let round = 0; round < 3; round++) {
      for (let act = 0; act < 5; act++)
        await store.events.record({
          actor,
          orgId: 'org_test',
          what: 'key.changed',
          subject: `key_${act}`,
          before,
        })
      ahead += 2 * HOUR_MS
      await sealAll({ store: store.chain, clock: { ...gateway.clock, now }, keys: gateway.receipts?.keys })
    }
    const { seq } = await store.chain.end()
    const heads = (await store.chain.heads()).length
    await until(async () => (await linesIn()).length === seq + heads)
    for (const { stop } of exporters) stop()
    const lines = await linesIn()
    expect(heads).toBeGreaterThan(0)
    expect(JSON.parse(lines.find((line) => line.includes('Ada')) ?? '')).toMatchObject({
      by: { kind: 'person', id: 'p1', name: 'Ada Lovelace' },
      what: 'key.changed',
      subject: 'key_0',
      before,
      after: null,
    })
    expect(await said(checker, jwks, lines)).toBeNull()
    expect(await said(checker, jwks, lines.toSpliced(1, 1))).toBe('event 2 is missing')
    await stopSound(server, database)
  })

for (const engine of engines.filter(({ lasting }) => lasting))
  test(`what is done to the record of events is found, on ${engine.name}`, async () => {
    const database = await engine.fresh()
    let ahead = 0
    const now = () => Date.now() + ahead
    const server = await startTestServer({ url: database.url, now })
    const { store, gateway } = server
    const other = await openStore({ url: database.url, now })
    const folder = await tempFolder('turnpike-chain-')
    const checker = await program(folder)
    await writeFile(
      join(folder, 'jwks.json'),
      JSON.stringify(await jsonOf(await server.get('/.well-known/jwks.json'))),
    )
    const seal = async () => {
      const clock = { ...gateway.clock, now }
      const keys = gateway.receipts?.keys
      await Promise.all([store, other].map(({ chain }) => sealAll({ store: chain, clock, keys })))
    }
    const acts = (n: number) =>
      Promise.all(
        Array.from({ length: n }, (_one, at) =>
          store.events.record({
            actor: { kind: 'person', id: 'p1', name: 'Ada Lovelace', address: '192.0.2.1' },
            orgId: 'org_test',
            what: 'key.changed',
            subject: `key_${at}`,
            before: { label: 'ada@example.com' },
            after: { label: 'ümläut "quoted" \u2028' },
          }),
        ),
      )
    const asked = <T>(act: Parameters<typeof perform>[2], input = {}) =>
      perform(gateway, whoIsCommand('test'), act, () => input) as Promise<T>
    type Page = { data: readonly object[]; heads: readonly string[] }
    /** What our audit says, and then what the stranger's program says. */
    const found = async (): Promise<readonly unknown[]> => {
      const { wrong } = await asked<{ wrong: string | null }>(eventAudit as never)
      const { data, heads } = await asked<Page>(eventChain as never)
      const lines = [...data, ...heads.map((head) => ({ head }))].map((line) => JSON.stringify(line))
      return [wrong, await said(checker, join(folder, 'jwks.json'), lines)]
    }
    await acts(20)
    await seal()
    ahead += 2 * HOUR_MS
    await acts(20)
    await Promise.all([seal(), acts(10), seal()])
    await seal()
    expect(await found()).toEqual([null, null])
    const { events, heads } = await asked<{ heads: number; events: number }>(eventAudit as never)
    expect([events >= 50, heads]).toEqual([true, 2])

    const view = openView(database.url)
    for (const text of unguarded[store.engine]) await view.rows(text)
    /** Does it, looks, and undoes it. */
    const after = async (does: string, undoes: string): Promise<readonly unknown[]> => {
      await view.rows(does)
      const wrong = await found()
      await view.rows(undoes)
      expect(await found()).toEqual([null, null])
      return wrong
    }
    const both = (text: string) => [text, text]
    expect(
      await after(
        `update event set what = 'key.deleted' where seq = 7`,
        `update event set what = 'key.changed' where seq = 7`,
      ),
    ).toEqual(both('event 7 was changed'))
    expect(
      await after(
        `update event set actor_name = 'Mallory' where seq = 9`,
        `update event set actor_name = 'Ada Lovelace' where seq = 9`,
      ),
    ).toEqual(both('event 9 was changed'))
    expect(
      await after(`update event set seq = -5 where seq = 5`, `update event set seq = 5 where seq = -5`),
    ).toEqual(both('event 5 is missing'))
    const tail = await after(
      `update event set seq = -seq where seq > 22`,
      `update event set seq = -seq where seq < 0`,
    )
    expect(tail).toEqual(both('events after 22 are missing'))
    const copied = `id, at, org_id, actor_kind, actor_id, actor_name, operator, what, subject`
    await view.rows(`insert into event (${copied}) select 'evil', at, org_id, actor_kind, actor_id, actor_name, operator,
      what, subject from event where seq = 3`)
    await seal()
    const last = (await store.chain.end()).seq
    expect(await found()).toEqual(both(`event ${last} was inserted later`))
    await view.rows(`update event set at = at + ${2 * HOUR_MS} where id = 'evil'`)
    expect(await found()).toEqual(both(`event ${last} was changed`))
    await view.rows(`update event set at = at - ${2 * HOUR_MS}, seq = -1 where id = 'evil'`)
    await view.rows(`update event set salt = null where seq = 12`)
    expect(await found()).toEqual(both('event 12 lost its names, and nobody was forgotten'))
    await store.events.record({ actor: byTest, orgId: 'people', what: 'person.removed', subject: 'p1' })
    await view.close()
    await other.close()
    await stopSound(server, database)
  })

test('a person is forgotten, and the chain holds', async () => {
  const server = await startTestServer()
  const { store, gateway } = server
  const { id } = await ensurePerson(store.people, { email: 'ada@example.com', name: 'Ada', now: Date.now() })
  const actor = { kind: 'person', id, name: 'Ada', address: '192.0.2.7' } as const
  await store.events.record({
    actor,
    orgId: 'o',
    what: 'x',
    subject: 's',
    after: { email: 'ada@example.com' },
  })
  const seal = () => sealAll({ store: store.chain, clock: gateway.clock, keys: gateway.receipts?.keys })
  await seal()
  await store.forget.forgetPerson(id, byTest)
  await seal()
  const audited = await perform(gateway, whoIsCommand('test'), eventAudit, () => ({}))
  expect(audited).toMatchObject({ wrong: null, forgotten: 1 })
  const { data } = await perform(gateway, whoIsCommand('test'), eventChain, () => ({}))
  expect(JSON.stringify(data)).not.toContain('ada@example.com')
  await server.stop()
})

/** What the embedded engine tells anybody is on the disk, and its thread does not wait for it. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Engine, Lane } from './engine.ts'
import { LogSync, logFile } from './log-sync.ts'
import { openSqlite } from './sqlite.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-sqlite-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A disk whose syncs end when they are told to. */
const slowDisk = () => {
  const waiting: PromiseWithResolvers<void>[] = []
  return {
    file: {
      sync: () => {
        const one = Promise.withResolvers<void>()
        waiting.push(one)
        return one.promise
      },
      close: () => undefined,
    },
    syncs: () => waiting.length,
    end: () => waiting.shift()?.resolve(),
    fail: () => waiting.shift()?.reject(new Error('EIO')),
  }
}

const opened = async (name: string) => {
  const disk = slowDisk()
  const engine = openSqlite(join(folder, name), undefined, disk.file)
  const made = engine.exclusive((_run, script) => script('create table t (a integer)'))
  await untilWaiting(disk)
  disk.end()
  await made
  return { disk, engine }
}

/** A turn of the loop: all that does not wait for a sync has happened by then. */
const settled = () => new Promise((resolve) => setImmediate(resolve))
const untilWaiting = async (disk: ReturnType<typeof slowDisk>) => {
  while (disk.syncs() === 0) await settled()
}

const insert = (engine: Engine, lane: Lane, value: number) =>
  engine.batch(lane, [{ text: 'insert into t values ($1)', params: [value] }])
const all = (engine: Engine, lane: Lane) => engine.batch(lane, [{ text: 'select a from t', params: [] }])

test('a commit is confirmed when it is on the disk, a read of it too, and the next one commits meanwhile', async () => {
  const { disk, engine } = await opened('told.db')
  const events: string[] = []
  const note = (name: string) => () => void events.push(name)
  const first = insert(engine, 'writer', 1).then(note('first'))
  await untilWaiting(disk)
  const second = insert(engine, 'control', 2).then(note('second'))
  const readers = (['control', 'reading'] as const).map((lane) =>
    all(engine, lane).then(([rows]) => events.push(`${lane} ${rows?.length}`)),
  )
  for (let turn = 0; turn < 100; turn++) await settled()
  expect([events, disk.syncs()]).toEqual([[], 1])
  disk.end()
  await first
  await untilWaiting(disk)
  expect([events, disk.syncs()]).toEqual([['first'], 1])
  disk.end()
  await Promise.all([second, ...readers])
  expect(events.toSorted()).toEqual(['control 2', 'first', 'reading 2', 'second'])
  await engine.close()
})

test('what may be lost waits for nothing, and reads of what is on the disk neither', async () => {
  const { disk, engine } = await opened('relaxed.db')
  await insert(engine, 'relaxed', 1)
  expect((await all(engine, 'control'))[0]?.length).toBe(1)
  expect(disk.syncs()).toBe(0)
  await engine.close()
})

test('after a sync that failed nothing is confirmed any more', async () => {
  const { disk, engine } = await opened('failing.db')
  const first = insert(engine, 'writer', 1).catch(String)
  await untilWaiting(disk)
  disk.fail()
  expect(await first).toBe('Error: EIO')
  expect(await insert(engine, 'writer', 2).catch(String)).toBe('Error: EIO')
  expect(await all(engine, 'control').catch(String)).toBe('Error: EIO')
  expect(disk.syncs()).toBe(0)
  await engine.close()
})

test('in any order of commits and syncs, a sync that began later covers each confirmation, and none is forgotten', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('commit', 'wait', 'end'), { maxLength: 40 }), async (steps) => {
      let [commits, covered] = [0, 0]
      const syncing: { upTo: number; end: () => void }[] = []
      const log = new LogSync(() => {
        const { promise, resolve } = Promise.withResolvers<void>()
        syncing.push({ upTo: commits, end: resolve })
        return promise
      })
      let open = 0
      const end = async () => {
        const one = syncing.shift()
        covered = Math.max(covered, one?.upTo ?? 0)
        one?.end()
        await settled()
      }
      for (const step of steps) {
        if (step === 'end') await end()
        if (step === 'commit') {
          commits++
          log.noteCommit()
        }
        if (step !== 'wait') continue
        const upTo = commits
        const waits = log.onDisk()
        if (waits === undefined) expect(covered).toBeGreaterThanOrEqual(upTo)
        else {
          open++
          void waits.then(() => {
            expect(covered).toBeGreaterThanOrEqual(upTo)
            open--
          })
        }
        expect(syncing.length).toBeLessThanOrEqual(1)
      }
      for (let more = 0; more < 3; more++) await end()
      expect([open, syncing.length]).toEqual([0, 0])
    }),
  )
})

test('the log of a real file is synced by its own name, also after the database was copied into its file', async () => {
  const path = join(folder, 'real.db')
  const file = logFile(path)
  let syncs = 0
  const engine = openSqlite(path, undefined, {
    ...file,
    sync: () => {
      syncs++
      return file.sync()
    },
  })
  await engine.exclusive((_run, script) => script('create table t (a integer)'))
  await insert(engine, 'writer', 1)
  expect(readFileSync(`${path}-wal`).length).toBeGreaterThan(0)
  await engine.batch('control', [{ text: 'select 1', params: [] }])
  expect(syncs).toBe(2)
  await engine.close()
})

test('a slow disk is waited for beside the loop, and a fast one at once', async () => {
  const path = join(folder, 'speed.db')
  let [nowMs, tookMs] = [0, 1]
  const ways: string[] = []
  const way = (name: string) => () => {
    ways.push(name)
    nowMs += tookMs
  }
  const disk = { now: way('now'), beside: async () => way('beside')() }
  const engine = openSqlite(
    path,
    undefined,
    logFile(path, disk, () => nowMs),
  )
  await engine.exclusive((_run, script) => script('create table t (a integer)'))
  const waysOf = async (ms: number): Promise<string> => {
    tookMs = ms
    ways.length = 0
    for (let value = 0; value < 70; value++) await insert(engine, 'writer', value)
    return ways.join(' ').replaceAll(/(\w+)(?: \1)+/g, '$1')
  }
  expect([await waysOf(1), await waysOf(4), await waysOf(1)]).toEqual([
    'now',
    'now beside now beside now beside',
    'beside now',
  ])
  await engine.close()
})

test('a look-up waits for no other process that writes', async () => {
  const path = join(folder, 'written-elsewhere.db')
  const engine = openSqlite(path)
  await engine.exclusive((_run, script) => script('create table t (a integer); insert into t values (7)'))
  // Another connection holds the write lock, as a command or a backup in another process does.
  const other = new Database(path)
  other.run('begin immediate')
  // With the lock it would fail after the engine's busy time-out.
  expect(await all(engine, 'control')).toEqual([[{ a: 7n }]])
  other.run('rollback')
  other.close()
  await engine.close()
})

test('a transaction waits for another process that writes, and the thread goes on meanwhile', async () => {
  const path = join(folder, 'locked.db')
  const engine = openSqlite(path)
  await engine.exclusive((_run, script) => script('create table t (a integer)'))
  const other = new Database(path)
  other.run('BEGIN IMMEDIATE')
  let ended = 0
  const writes = [
    insert(engine, 'writer', 1),
    engine.transaction('control', (run) => run('insert into t values (2)')),
    engine.inline?.('writer', (now) => now.change('insert into t values (3)')),
  ].map((write) => write?.then(() => ended++))
  for (let turn = 0; turn < 100; turn++) await settled()
  expect(ended).toBe(0)
  other.run('ROLLBACK')
  other.close()
  await Promise.all(writes)
  expect(await all(engine, 'control')).toEqual([[1n, 2n, 3n].map((a) => ({ a }))])
  await engine.close()
})

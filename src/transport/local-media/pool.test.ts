/** Work that hangs, uses up memory or breaks its process is ended and reported, and the next work succeeds. */
import { afterEach, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Busy, openPool, type Pool, type PoolParts, TooMuchWork } from './pool.ts'

const folder = fileURLToPath(new URL('../../../test/local-media/', import.meta.url))
const program = fileURLToPath(new URL('./child.ts', import.meta.url))
const open: Pool[] = []
const stuckPool = (parts: Partial<PoolParts> = {}) => {
  const pool = openPool({ program: `${folder}stuck.ts`, processes: 1, ...parts })
  open.push(pool)
  return (how: string, signal?: AbortSignal, waitMs?: number) =>
    pool.run({ product: '', inputs: { how, ...(waitMs === undefined ? {} : { waitMs }) } }, signal)
}

afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close()
})

/** The id of the process that did the work. */
const pidOf = async (made: ReturnType<Pool['run']>): Promise<unknown> => {
  const done = await made
  return 'json' in done ? done.json.pid : undefined
}

test('a process is kept for the next piece', async () => {
  const run = stuckPool()
  expect(await pidOf(run('work'))).toBe(await pidOf(run('work')))
})

test('an endless loop of WebAssembly is ended by its time, and the next piece is done by another process', async () => {
  const run = stuckPool({ limitMs: 1_000 })
  const first = await pidOf(run('work'))
  const [stuck, next] = [run('loop'), run('work')]
  await expect(stuck).rejects.toBeInstanceOf(TooMuchWork)
  expect(await pidOf(next)).not.toBe(first)
})

test('work that a busy machine gives no processor is not to blame, but does not wait for ever', async () => {
  const run = stuckPool({ limitMs: 500, longestMs: 15_000 })
  expect(await pidOf(run('work', undefined, 1_000))).toBeNumber()
  await expect(run('work', undefined, 1_000_000)).rejects.toBeInstanceOf(Busy)
})

test('what takes all memory is ended, and the server keeps its own', async () => {
  const before = process.memoryUsage.rss()
  const run = stuckPool()
  const [greedy, next] = [run('memory'), run('work')]
  await expect(greedy).rejects.toThrow('memory')
  expect(await pidOf(next)).toBeNumber()
  expect(process.memoryUsage.rss() - before).toBeLessThan(200_000_000)
})

test('a process knows no setting of the server, nor its folder, where .env is', async () => {
  const made = await stuckPool()('work')
  expect(made).toMatchObject({ json: { env: [], cwd: '/' } })
})

test('a process that ends is replaced', async () => {
  const run = stuckPool()
  const [broken, next] = [run('exit'), run('work')]
  await expect(broken).rejects.toThrow('the process ended')
  expect(await pidOf(next)).toBeNumber()
})

test('work that nobody waits for any more is ended, and what waited behind it is done', async () => {
  const run = stuckPool()
  const leaving = new AbortController()
  const left = Promise.allSettled([run('loop', leaving.signal), run('loop', leaving.signal)])
  const other = run('work')
  leaving.abort()
  const why = { status: 'rejected', reason: new Error('nobody waits') }
  expect(await left).toMatchObject([why, why])
  expect(await pidOf(other)).toBeNumber()
  await expect(run('work', leaving.signal)).rejects.toThrow('nobody waits')
})

test('only so many pieces wait', async () => {
  const run = stuckPool({ waiting: 2 })
  const running = ['work', 'work', 'work'].map((how) => run(how))
  await expect(run('work')).rejects.toBeInstanceOf(Busy)
  expect((await Promise.all(running)).length).toBe(3)
})

test('an idle process ends', async () => {
  const run = stuckPool({ idleMs: 1 })
  const pid = Number(await pidOf(run('work')))
  await gone(pid)
})

/** Resolves when the process is gone, not even waiting to be reaped. */
const gone = async (pid: number): Promise<void> => {
  const alive = () => {
    try {
      process.kill(pid, 0)
      return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    } catch {
      return false
    }
  }
  while (alive()) await Bun.sleep(20)
}

test('a process whose server ended before the guard began ends too', async () => {
  const server = Bun.spawn(['true'])
  await server.exited
  const orphan = Bun.spawn([process.execPath, `${folder}stuck.ts`, String(server.pid)], { ipc: () => {} })
  await orphan.exited
  expect(orphan.signalCode).toBe('SIGKILL')
})

test('endless work ends with the server that asked for it', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'orphan-')), 'pid')
  const server = Bun.spawn([process.execPath, `${folder}orphan.ts`, file], {
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  while (!existsSync(file) || readFileSync(file, 'utf8') === '') await Bun.sleep(20)
  server.kill('SIGKILL')
  await server.exited
  await gone(Number(readFileSync(file, 'utf8')))
})

test('the products of a server that was started with less priority are made too', async () => {
  const made = Promise.withResolvers<unknown>()
  const child = Bun.spawn(['nice', '-n', '19', process.execPath, program, String(process.pid)], {
    serialization: 'advanced',
    ipc: made.resolve,
    onExit: () => made.reject(new Error('it ended')),
  })
  child.send({ product: 'sketch-1', inputs: { prompt: 'a fox', n: 1, size: '64x64' } })
  expect(await made.promise).toHaveProperty('made')
  child.kill('SIGKILL')
})

test.if(process.getuid?.() === 0)(
  'what reads strangers’ files under root gives its rights up first',
  async () => {
    const pool = openPool({ processes: 1 })
    open.push(pool)
    await pool.run({ product: 'sketch-1', inputs: { prompt: 'a fox', n: 1, size: '64x64' } })
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ')
    const users = children.map(
      (pid) => /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1],
    )
    expect(users).toContain('65534')
  },
)

/**
 * Each mutation breaks one rule of the protocol in a copy of the sources; the simulation must catch every one.
 * The text to replace must occur exactly once, so that a mutation cannot go stale unnoticed.
 *
 * What virtual time cannot show breaks a test of the real engine instead.
 *
 * The seed that caught a mutation last is tried first (`caught-at.json`), then up to 400 others. Options: --only <name>;
 * --note writes the seeds down.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { PATIENCE_MS } from '../now.ts'
import { type Mutation, mutations } from './mutation-list.ts'

const root = resolve(import.meta.dir, '../..')
const noted = join(import.meta.dir, 'caught-at.json')
const caughtAt: Record<string, number> = JSON.parse(readFileSync(noted, 'utf8'))
const option = process.argv.indexOf('--only')
const only = option < 0 ? undefined : process.argv[option + 1]

/** Runs histories in the folder until a law is broken; the line that says so. */
const search = async (
  { folder, kind }: { folder: string; kind: Mutation['kind'] },
  from: number,
  seeds: number,
): Promise<string | undefined> => {
  const range = [
    '--from',
    String(from),
    '--seeds',
    String(seeds),
    '--until-caught',
    ...(kind === undefined ? [] : ['--only', kind]),
  ]
  const child = Bun.spawn([process.execPath, 'test/simulation/run.ts', ...range], {
    cwd: folder,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  const code = await child.exited
  return code === 0 ? undefined : output.split('\n').find((each) => each.startsWith('seed '))
}

/** Seeds of each kind among which a mutation must be caught. */
const SEEDS = { 'all else': 400, calm: 250, clocks: 60, 'paid-again': 60, jobs: 60 } as const

/** Runs a test of the folder, which must fail; the line that names what did. */
const failing = async (folder: string, test: string): Promise<string | undefined> => {
  for (const part of ['test/store', 'test/postgres.ts', 'test/until.ts', 'test/seed.ts'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  const child = Bun.spawn([process.execPath, 'test', '--timeout', String(PATIENCE_MS), test], {
    cwd: folder,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [, output] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  await child.exited
  return output.split('\n').find((line) => line.startsWith('(fail)'))
}

/** How the mutation was caught; undefined when it was not. */
const caught = async ({ name, file, from, to, kind, test }: Mutation): Promise<string | undefined> => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-mutation-'))
  try {
    for (const part of ['src', 'test/simulation', 'test/now.ts', 'package.json', 'tsconfig.json'])
      cpSync(join(root, part), join(folder, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    const path = join(folder, file)
    const pieces = readFileSync(path, 'utf8').split(from)
    if (pieces.length !== 2) {
      console.log(`the text to replace occurs ${pieces.length - 1} times in ${file}`)
      return undefined
    }
    writeFileSync(path, pieces.join(to))
    if (test !== undefined) return await failing(folder, test)
    const last = caughtAt[name]
    const where = { folder, kind }
    return (
      (last === undefined ? undefined : await search(where, last, 1)) ??
      (await search(where, 1, SEEDS[kind ?? 'all else']))
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const queue = mutations.filter(({ name }) => only === undefined || name.includes(only))
let [passed, failed, stale] = [0, 0, 0]
const work = async (): Promise<void> => {
  for (let mutation = queue.shift(); mutation !== undefined; mutation = queue.shift()) {
    const { name } = mutation
    const line = await caught(mutation)
    if (line === undefined) failed++
    else {
      passed++
      const seed = /^seed (\d+)/.exec(line)?.[1]
      if (seed !== undefined && caughtAt[name] !== Number(seed)) {
        stale++
        caughtAt[name] = Number(seed)
      }
    }
    console.log(
      `${line === undefined ? 'MISSED' : 'caught'}  ${name.padEnd(50)} ${(line ?? '').slice(0, 110)}`,
    )
  }
}
await Promise.all([work(), work()])
if (process.argv.includes('--note')) {
  const seeds = mutations.flatMap(({ name }) =>
    caughtAt[name] === undefined ? [] : [[name, caughtAt[name]]],
  )
  writeFileSync(noted, `${JSON.stringify(Object.fromEntries(seeds), undefined, 2)}\n`)
} else if (stale > 0)
  console.log(`${stale} noted seeds no longer catch and cost a search each: --note mends them`)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)

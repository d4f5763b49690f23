/**
 * Each mutation breaks one rule of the protocol as the sources are loaded (mutate.ts); the simulation must catch every one.
 * The text to replace must occur exactly once, so that a mutation cannot go stale unnoticed.
 *
 * What virtual time cannot show breaks a test of the real engine instead.
 *
 * The seed that caught a mutation last is tried first (`caught-at.json`), then up to 400 others. Options: --only <name>;
 * --one-of <n> plays an nth of them, another each day (SAMPLE_DAY); --note writes the seeds down.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { nthOfDay, sampleDay } from '../sample.ts'
import { type Mutation, mutations } from './mutation-list.ts'

const root = resolve(import.meta.dir, '../..')
const mutate = join(import.meta.dir, 'mutate.ts')
const noted = join(import.meta.dir, 'caught-at.json')
const caughtAt: Record<string, number> = JSON.parse(readFileSync(noted, 'utf8'))
const optionOf = (name: string): string | undefined => {
  const at = process.argv.indexOf(name)
  return at < 0 ? undefined : process.argv[at + 1]
}
const only = optionOf('--only')
const share = Number(optionOf('--one-of') ?? 1)

/** The output of a failed run, with a rule broken where one is named; undefined when the run passed. */
const run = async (broken: string | undefined, ...args: string[]): Promise<string | undefined> => {
  const child = Bun.spawn([process.execPath, ...args], {
    cwd: root,
    // A law that is sampled elsewhere is played whole here.
    env: { ...process.env, CI: 'true', MUTATION: broken },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const said = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return (await child.exited) === 0 ? undefined : said.join('\n')
}

type Kind = NonNullable<Mutation['kind']> | 'all else'

const rangeOf = (kind: Kind, from: number, seeds: number) => [
  'test/simulation/run.ts',
  '--from',
  String(from),
  '--seeds',
  String(seeds),
  '--until-caught',
  '--only',
  kind,
]

const soundAt = new Map<string, Promise<boolean>>()
/** Whether all laws hold at this seed with every rule in force: where they do not, a catch means nothing. */
const isSound = (kind: Kind, seed: number): Promise<boolean> => {
  const name = `${kind} ${seed}`
  const known =
    soundAt.get(name) ?? run(undefined, ...rangeOf(kind, seed, 1)).then((said) => said === undefined)
  soundAt.set(name, known)
  return known
}

/** Plays histories until the mutation breaks a law; returns the line that says so. */
const search = async (name: string, kind: Kind, from: number, seeds: number): Promise<string | undefined> => {
  for (let next = from; next < from + seeds; ) {
    const said = await run(name, '--preload', mutate, ...rangeOf(kind, next, from + seeds - next))
    const line = said?.split('\n').find((one) => one.startsWith('seed '))
    if (line === undefined) return undefined
    const seed = Number(/\d+/.exec(line)?.[0])
    if (await isSound(kind, seed)) return line
    next = seed + 1
  }
  return undefined
}

/** Seeds of each kind among which a mutation must be caught. */
const SEEDS: Readonly<Record<Kind, number>> = {
  'all else': 400,
  calm: 250,
  clocks: 60,
  'paid-again': 60,
  jobs: 60,
  batches: 60,
  shares: 60,
  vouchers: 60,
  cards: 60,
  failover: 200,
}

/** Runs a test, which must fail; returns the line that names the failure. */
const failing = async (name: string, test: string): Promise<string | undefined> =>
  (await run(name, 'test', '--preload', mutate, test))?.split('\n').find((line) => line.startsWith('(fail)'))

/** How the mutation was caught; undefined when it was not. */
const caught = async (mutation: Mutation): Promise<string | undefined> => {
  const { name, kind = 'all else', test } = mutation
  if (test !== undefined) return failing(name, test)
  const last = caughtAt[name]
  const found = last === undefined ? undefined : await search(name, kind, last, 1)
  return found ?? (await search(name, kind, 1, SEEDS[kind]))
}

const queue = nthOfDay(share, mutations, sampleDay).filter(
  ({ name }) => only === undefined || name.includes(only),
)
let [passed, failed, stale] = [0, 0, 0]
// Of those too that are not played today.
for (const { name, file, from } of mutations) {
  const times = readFileSync(join(root, file), 'utf8').split(from).length - 1
  if (times === 1) continue
  failed++
  console.log(`${name}: the text to replace occurs ${times} times in ${file}`)
}
const work = async (): Promise<void> => {
  for (let mutation = queue.shift(); mutation !== undefined; mutation = queue.shift()) {
    const { name } = mutation
    const started = performance.now()
    const line = await caught(mutation)
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
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
      `${line === undefined ? 'MISSED' : 'caught'}  ${name.padEnd(60)} ${seconds.padStart(5)} s  ${(line ?? '').slice(0, 110)}`,
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

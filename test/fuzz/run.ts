/**
 * `npm run fuzz`: requests near to valid ones against the whole server, with vendors that answer well and badly. No answer is
 * a 500, none hangs, all fit the reference, memory and processor time stay within bounds, and the books are equal after.
 * Options: --seconds N or --rounds N, --seed N (the first of its rounds; the clock chooses when absent). `--seed N --rounds 1`
 * plays a round again.
 */
import { noteNow } from '../now.ts'
import { fuzzRound } from './round.ts'
import { scriptedVendors } from './vendors.ts'

const MEGABYTE = 1_048_576
/** What may stay in memory after all rounds beyond what the first left there: compiled code and pools. */
const GROWTH_MB_MAX = 300
/** Rounds after which every engine and every vendor has had its turn. */
const ROUNDS_OF_ALL = 4

const option = (name: string): number | undefined => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? undefined : Number(process.argv[at + 1])
}

const rounds = option('rounds')
const seconds = option('seconds') ?? 10
const first = option('seed') ?? Date.now() % 1_000_000_000
const until = performance.now() + seconds * 1_000
console.log(`seeds from ${first} on, for ${rounds === undefined ? `${seconds} s` : `${rounds} rounds`}`)

const memory = (): number => {
  Bun.gc(true)
  return process.memoryUsage().rss / MEGABYTE
}

const add = <T>(to: Map<T, number>, from: ReadonlyMap<T, number>): void => {
  for (const [name, count] of from) to.set(name, (to.get(name) ?? 0) + count)
}
const listed = (counts: ReadonlyMap<unknown, number>): string =>
  [...counts]
    .sort(([one], [other]) => String(one).localeCompare(String(other)))
    .map(([name, count]) => `${name}: ${count}`)
    .join(', ')

let passed = 0
let failed = 0
let sent = 0
let played = 0
let before: number | undefined
const statuses = new Map<number, number>()
const sound = new Map<string, number>()
const engines = new Map<string, number>()
/** Which requests a seed draws changes with the list of addresses: it goes on until every vendor was asked, within bounds. */
const isEnough = () => scriptedVendors.every(({ id }) => sound.has(id)) || played >= 5 * (rounds ?? 1)
const isLast = () =>
  rounds === undefined
    ? performance.now() >= until
    : played >= rounds && (rounds < ROUNDS_OF_ALL || isEnough())
do {
  const seed = first + played
  noteNow(`seed ${seed}`)
  const round = await fuzzRound(seed)
  played++
  before ??= memory()
  sent += round.sent
  add(statuses, round.statuses)
  add(sound, round.sound)
  add(engines, new Map([[round.engine, 1]]))
  if (round.wrong.length === 0) passed++
  else failed++
  for (const wrong of round.wrong) console.log(`seed ${seed}: ${wrong}`)
} while (!isLast())
const growth = memory() - (before ?? 0)
if (growth > GROWTH_MB_MAX) {
  failed++
  console.log(`the process grew by ${growth.toFixed(0)} MB, more than ${GROWTH_MB_MAX}`)
} else passed++
// A fuzzer whose requests are all refused finds nothing, so every vendor must have answered some.
if (played >= ROUNDS_OF_ALL)
  for (const { id } of scriptedVendors)
    if (sound.has(id)) passed++
    else {
      failed++
      console.log(`no sound answer of ${id} was asked for`)
    }
console.log(`rounds: ${listed(engines)}`)
console.log(`answers: ${listed(statuses)}`)
console.log(`sound answers of vendors: ${listed(sound)}`)
console.log(`${sent} requests, memory grew by ${growth.toFixed(0)} MB of ${GROWTH_MB_MAX}`)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)

/**
 * `npm run fuzz`: requests near to valid ones against the whole server. No answer is a 500, none hangs, all have the shape of
 * the reference, memory and processor time stay within bounds, and the books are equal after.
 * Options: --seconds N, --seed N (the first of its rounds; the clock chooses when absent).
 */
import { fuzzRound } from './round.ts'

const MEGABYTE = 1_048_576
/** What may stay in memory after all rounds beside what the first left there: compiled code and pools. */
const GROWTH_MB_MAX = 300

const option = (name: string): number | undefined => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? undefined : Number(process.argv[at + 1])
}

const seconds = option('seconds') ?? 10
const first = option('seed') ?? Date.now() % 1_000_000_000
const until = performance.now() + seconds * 1_000
console.log(`seeds from ${first} on, for ${seconds} s`)

const memory = (): number => {
  Bun.gc(true)
  return process.memoryUsage().rss / MEGABYTE
}

let passed = 0
let failed = 0
let sent = 0
let before: number | undefined
for (let seed = first; seed === first || performance.now() < until; seed++) {
  const round = await fuzzRound(seed)
  before ??= memory()
  sent += round.sent
  if (round.wrong.length === 0) passed++
  else failed++
  for (const wrong of round.wrong) console.log(`seed ${seed}: ${wrong}`)
}
const growth = memory() - (before ?? 0)
if (growth > GROWTH_MB_MAX) {
  failed++
  console.log(`the process grew by ${growth.toFixed(0)} MB, more than ${GROWTH_MB_MAX}`)
} else passed++
console.log(`${sent} requests, memory grew by ${growth.toFixed(0)} MB of ${GROWTH_MB_MAX}`)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)

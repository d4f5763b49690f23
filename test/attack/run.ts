/**
 * `npm run attack`: what a stranger, a customer or a vendor can do to a server, as named checks with budgets, on both
 * engines against real processes. Each prints its cost and its budget; the last line is `N passed, N failed`.
 *
 * Option: --only <part of a name>.
 */
import { join } from 'node:path'
import { postgresForTests } from '../postgres.ts'
import type { Check } from './check.ts'
import { checks } from './checks.ts'
import { startTarget, type Target } from './target.ts'

/** A check that has not ended by then hangs. */
const PATIENCE_MS = 120_000
const LOOK_MS = 20
/** The longest that another caller may wait meanwhile: nobody may hold up the others for longer. */
const OTHERS_MS = 2_000

const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : ''
const chosen = checks.filter(({ name }) => name.includes(only ?? ''))

const patiently = async (work: Promise<void>): Promise<void> => {
  let late: Timer | undefined
  const hangs = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error(`did not end in ${PATIENCE_MS} ms`)), PATIENCE_MS)
  })
  await Promise.race([work, hangs]).finally(() => clearTimeout(late))
}

/** Asks again and again, as another caller would; `end` returns the longest that one answer took, in milliseconds. */
const askMeanwhile = (address: string): { end(): Promise<number> } => {
  let longest = 0
  let ended = false
  const ask = async (): Promise<void> => {
    while (!ended) {
      const startedMs = performance.now()
      await (await fetch(`${address}/livez`)).text()
      longest = Math.max(longest, performance.now() - startedMs)
      await Bun.sleep(LOOK_MS)
    }
  }
  const asking = ask()
  return {
    end: async () => {
      ended = true
      await asking
      return longest
    },
  }
}

/** Runs a check; returns whether it stayed within its budgets. */
const passes = async (target: Target, check: Check): Promise<boolean> => {
  check.prepare?.(target)
  const cpuBefore = target.cpuMs()
  const memoryBefore = target.memoryMb()
  let peak = memoryBefore
  const look = setInterval(() => {
    peak = Math.max(peak, target.memoryMb())
  }, LOOK_MS)
  const others = askMeanwhile(target.address)
  const startedMs = performance.now()
  const fault = await patiently(check.run(target)).then(
    () => undefined,
    (error: Error) => error.message,
  )
  const seconds = (performance.now() - startedMs) / 1_000
  const waited = await others.end()
  clearInterval(look)
  const cpu = target.cpuMs() - cpuBefore
  const memory = Math.max(peak, target.memoryMb()) - memoryBefore
  target.letGo()
  const fine = fault === undefined && cpu <= check.cpuMs && memory <= check.memoryMb && waited <= OTHERS_MS
  console.log(
    `${fine ? 'ok    ' : 'FAILED'} ${target.name.padEnd(10)} ${check.name.padEnd(66)} ${cpu.toFixed(0).padStart(6)} of ${check.cpuMs} ms CPU, ${memory.toFixed(0).padStart(4)} of ${check.memoryMb} MB, others waited ${waited.toFixed(0).padStart(4)} of ${OTHERS_MS} ms, ${seconds.toFixed(1)} s${fault === undefined ? '' : `: ${fault}`}`,
  )
  return fine
}

let passed = 0
let failed = 0
const attack = async (target: Target): Promise<void> => {
  try {
    for (const check of chosen.filter(({ engine = target.name }) => engine === target.name))
      if (await passes(target, check)) passed++
      else failed++
  } finally {
    await target.stop()
  }
}

await attack(await startTarget('SQLite', (home) => `sqlite:${join(home, 'ledger', 'books.db')}`))
const postgres = await postgresForTests()
try {
  await attack(await startTarget('PostgreSQL', () => postgres.url))
} finally {
  await postgres.stop()
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 && passed > 0 ? 0 : 1)

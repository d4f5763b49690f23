/**
 * `npm test`: everything, part by part, with a line each, and at the end `N passed, N failed`.
 * Options: --only <part>. The PostgreSQL suites find a server or start one of their own.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresForTests } from './postgres.ts'

type Part = {
  readonly name: string
  readonly command: readonly string[]
  readonly minutes: number
  /** The run must fail: it runs a product broken on purpose. */
  readonly mustFail?: boolean
}

const bun = process.execPath
/** A test that takes so long hangs; a busy machine does not reach it. */
const PATIENCE_MS = '120000'
const simulation = (from: number, seeds: number): Part => ({
  name: `simulation, seeds ${from} to ${from + seeds - 1}`,
  command: [bun, 'test/simulation/run.ts', '--from', String(from), '--seeds', String(seeds)],
  minutes: 30,
})

/** Groups run one after the other, the parts of a group side by side. */
const groups: readonly (readonly Part[])[] = [
  [
    { name: 'tidy', command: [bun, 'test', '--timeout', PATIENCE_MS, 'test/tidy'], minutes: 10 },
    { name: 'unit', command: [bun, 'test', '--timeout', PATIENCE_MS, 'src', 'test/chaos'], minutes: 20 },
    { name: 'fuzz', command: [bun, 'test/fuzz/run.ts', '--seconds', '10', '--seed', '1'], minutes: 5 },
  ],
  // These wait more than they work.
  [
    {
      name: 'whole server',
      command: [
        bun,
        'test',
        '--timeout',
        PATIENCE_MS,
        'test/server',
        'test/cli',
        'test/clients',
        'test/security',
      ],
      minutes: 30,
    },
    { name: 'agents', command: [bun, 'test', 'test/agents'], minutes: 40 },
    { name: 'store', command: [bun, 'test', '--timeout', PATIENCE_MS, 'test/store'], minutes: 30 },
    { name: 'payments', command: [bun, 'test', '--timeout', PATIENCE_MS, 'test/payments'], minutes: 30 },
  ],
  // A fair sample; `npm run simulation` runs 2,000.
  [simulation(1, 500), simulation(501, 500)],
  [{ name: 'mutations', command: [bun, 'test/simulation/mutations.ts'], minutes: 40 }],
  [{ name: 'chaos', command: [bun, 'test/chaos/run.ts', '--seconds', '60'], minutes: 15 }],
  [
    {
      name: 'chaos of a mutant',
      command: [bun, 'test/chaos/run.ts', '--seconds', '20', '--mutate', 'answerfirst'],
      minutes: 15,
      mustFail: true,
    },
  ],
]

type Result = {
  readonly part: Part
  readonly passed: number
  readonly failed: number
  readonly seconds: number
  readonly output: string
}

/** Reads the last counts of a part's output: our own closing line, or those of the test runner. */
const countsOf = (output: string): { passed: number; failed: number } | undefined => {
  const own = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1)
  if (own) return { passed: Number(own[1]), failed: Number(own[2]) }
  const passed = [...output.matchAll(/^ *(\d+) pass$/gm)].at(-1)
  const failed = [...output.matchAll(/^ *(\d+) fail$/gm)].at(-1)
  return passed && failed ? { passed: Number(passed[1]), failed: Number(failed[1]) } : undefined
}

const runPart = async (part: Part, databaseUrl: string): Promise<Result> => {
  const started = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-part-'))
  const child = Bun.spawn([...part.command], {
    env: { ...process.env, DATABASE_TEST_URL: databaseUrl, NO_COLOR: '1' },
    // Files and no pipes: a process that a part left behind must not keep us waiting for their end.
    stdout: Bun.file(join(folder, 'out')),
    stderr: Bun.file(join(folder, 'errors')),
    timeout: part.minutes * 60_000,
  })
  const code = await child.exited
  const output = ['out', 'errors'].map((name) => readFileSync(join(folder, name), 'utf8')).join('')
  rmSync(folder, { recursive: true })
  const seconds = (performance.now() - started) / 1000
  const counts = countsOf(output)
  if (part.mustFail === true) {
    const caught = code !== 0 && counts !== undefined && counts.failed > 0
    return { part, passed: caught ? 1 : 0, failed: caught ? 0 : 1, seconds, output }
  }
  if (counts === undefined)
    return {
      part,
      passed: 0,
      failed: 1,
      seconds,
      output: `${output}\nended with code ${code} and without a count`,
    }
  return {
    part,
    passed: counts.passed,
    failed: counts.failed === 0 && code !== 0 ? 1 : counts.failed,
    seconds,
    output,
  }
}

const only = process.argv[process.argv.indexOf('--only') + 1]
const chosen = process.argv.includes('--only')
  ? groups
      .map((group) => group.filter(({ name }) => name.includes(only ?? '')))
      .filter((group) => group.length > 0)
  : groups
const postgres = await postgresForTests()
const results: Result[] = []
try {
  for (const group of chosen)
    for (const result of await Promise.all(group.map((part) => runPart(part, postgres.url)))) {
      results.push(result)
      const { part, passed, failed, seconds, output } = result
      console.log(
        `${failed === 0 ? 'ok    ' : 'FAILED'} ${part.name.padEnd(34)} ${String(passed).padStart(6)} passed ${String(failed).padStart(4)} failed ${seconds.toFixed(0).padStart(5)} s`,
      )
      if (failed > 0) console.log(output.split('\n').slice(-150).join('\n'))
    }
} finally {
  await postgres.stop()
}
const total = (count: (result: Result) => number) => results.reduce((sum, result) => sum + count(result), 0)
const failed = total((result) => result.failed)
console.log(`${total((result) => result.passed)} passed, ${failed} failed`)
process.exit(failed === 0 && results.length > 0 ? 0 : 1)

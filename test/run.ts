/**
 * `npm test`: every part, with a line each, and at the end `N passed, N failed`. Of the longest parts it runs a share of
 * the files, another each day; `CI=true npm test` runs all, and some parts more.
 *
 * Options: --only <parts>, by pieces of their names with commas between. The PostgreSQL suites run on that
 * of DATABASE_TEST_URL, or start their own; if none of them is chosen, nothing looks for one.
 */
import { failuresOf } from './failures.ts'
import { programForTests } from './made-program.ts'
import { ofDay } from './part-files.ts'
import { AT_ONCE, beside, inOrder, type Part } from './parts.ts'
import { templateForTests } from './postgres.ts'
import { type Provided, type Result, runPart } from './run-part.ts'
import { isCi, sampleDay } from './sample.ts'

const option = process.argv.indexOf('--only')
const names = option < 0 ? undefined : (process.argv[option + 1] ?? '').split(',')
const isChosen = ({ name, inCi }: Part): boolean =>
  names === undefined ? inCi !== true || isCi : names.some((one) => name.includes(one))
const chosen = [...inOrder, ...beside].filter(isChosen)
// Both are made beside the first parts, which need neither.
const making = chosen.some(({ program }) => program) ? programForTests() : undefined
const starting = chosen.some(({ database }) => database) ? templateForTests() : undefined
// Their failures are those of the run, which then waits for them.
making?.catch(() => undefined)
starting?.catch(() => undefined)
const providedTo = async ({ database, program }: Part): Promise<Provided> => ({
  ...(database === true && starting !== undefined ? { DATABASE_TEST_TEMPLATE: (await starting).url } : {}),
  ...(program === true && making !== undefined ? { TEST_PROGRAM: (await making).path } : {}),
})
// CI, and whoever names parts, runs all their files.
const isSample = names === undefined && !isCi
if (isSample) console.log(`SAMPLE_DAY=${sampleDay} draws the same sample again; CI=true runs everything`)
const results: Result[] = []
const run = async (part: Part): Promise<void> => {
  const result = await runPart(isSample ? ofDay(part, sampleDay) : part, await providedTo(part))
  results.push(result)
  const { passed, failed, seconds, cpuSeconds, output } = result
  console.log(
    `${failed === 0 ? 'ok    ' : 'FAILED'} ${part.name.padEnd(34)} ${String(passed).padStart(6)} passed ${String(failed).padStart(4)} failed ${seconds.toFixed(0).padStart(5)} s ${cpuSeconds.toFixed(0).padStart(5)} s of CPU`,
  )
  if (failed > 0) console.log(failuresOf(output))
}
const runAll = async (parts: readonly Part[], atOnce: number): Promise<void> => {
  const left = parts.filter(isChosen)
  const work = async (): Promise<void> => {
    for (let part = left.shift(); part !== undefined; part = left.shift()) await run(part)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}
try {
  await Promise.all([runAll(beside, beside.length), runAll(inOrder, AT_ONCE)])
} finally {
  for (const made of [starting, making])
    await made?.then<unknown>(({ stop }) => stop()).catch(() => undefined)
}
const total = (count: (result: Result) => number) => results.reduce((sum, result) => sum + count(result), 0)
const failed = total((result) => result.failed)
console.log(`${total((result) => result.passed)} passed, ${failed} failed`)
process.exit(failed === 0 && results.length > 0 ? 0 : 1)

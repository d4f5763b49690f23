/** Runs one part of the tests in a process of its own, and ends it when it prints nothing for too long. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PATIENCE_MS } from './now.ts'
import type { Part } from './parts.ts'

export type Result = {
  readonly part: Part
  readonly passed: number
  readonly failed: number
  readonly seconds: number
  /**
   * Processor time of the part and of the processes that it started and waited for, without a database that it found.
   */
  readonly cpuSeconds: number
  readonly output: string
}

/** A part may take as long as it likes while tests begin and end; one test has `PATIENCE_MS`. */
const SILENCE_MS = 2 * PATIENCE_MS
const LOOK_MS = 1_000
/** A process that does not end on request is ended by force. */
const ASKED_MS = 10_000

/** Reads the last counts of a part's output: our own closing line, or those of the test runner. */
const countsOf = (output: string): { passed: number; failed: number } | undefined => {
  const own = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1)
  if (own) return { passed: Number(own[1]), failed: Number(own[2]) }
  const passed = [...output.matchAll(/^ *(\d+) pass$/gm)].at(-1)
  const failed = [...output.matchAll(/^ *(\d+) fail$/gm)].at(-1)
  return passed && failed ? { passed: Number(passed[1]), failed: Number(failed[1]) } : undefined
}

/**
 * Watches whether the process makes progress: whether any of the files changes. Ends it when none does; returns whether
 * it did. Until its first test has begun (its name is in `now`), it has the time of all.
 */
const endWhenSilent = async (
  child: Bun.Subprocess,
  { files, now }: { readonly files: readonly string[]; readonly now: string },
  silenceMs: number,
): Promise<boolean> => {
  let [seen, sinceMs] = ['', performance.now()]
  while (child.exitCode === null && child.signalCode === null) {
    await Promise.race([child.exited, Bun.sleep(Math.min(LOOK_MS, silenceMs / 4))])
    const changed = files.map((file) => (existsSync(file) ? statSync(file).mtimeMs : 0)).join(' ')
    if (changed !== seen) [seen, sinceMs] = [changed, performance.now()]
    else if (performance.now() - sinceMs > (existsSync(now) ? silenceMs : SILENCE_MS)) {
      child.kill()
      await Promise.race([child.exited, Bun.sleep(ASKED_MS)])
      child.kill('SIGKILL')
      return true
    }
  }
  return false
}

/** What a part finds in its environment, and no other does. */
export type Provided = {
  /** The database that it copies. */
  readonly DATABASE_TEST_TEMPLATE?: string
  /** The executable that it starts as the program. */
  readonly TEST_PROGRAM?: string
}

/** Runs the part to its end. */
export const runPart = async (
  part: Part,
  provided: Provided = {},
  silenceMs = SILENCE_MS,
): Promise<Result> => {
  const started = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-part-'))
  const [out, errors, now] = ['out', 'errors', 'now'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const { DATABASE_TEST_TEMPLATE: _, TEST_PROGRAM: _program, ...env } = process.env
  const child = Bun.spawn([...part.command], {
    env: {
      ...env,
      ...provided,
      NO_COLOR: '1',
      TEST_NOW: now,
    },
    // Files and no pipes: a process that a part left behind must not make us wait for its end.
    stdout: Bun.file(out),
    stderr: Bun.file(errors),
  })
  const hung = await endWhenSilent(child, { files: [out, errors, now], now }, silenceMs)
  const code = await child.exited
  const said = [out, errors].map((file) => readFileSync(file, 'utf8')).join('')
  const last = existsSync(now) ? readFileSync(now, 'utf8') : 'nothing that it named'
  rmSync(folder, { recursive: true })
  const seconds = (performance.now() - started) / 1000
  const cpuSeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000_000
  if (hung)
    return {
      part,
      passed: 0,
      failed: 1,
      seconds,
      cpuSeconds,
      output: `${said}\nended from outside: nothing began or ended for ${silenceMs / 60_000} minutes; it was in\n  ${last}`,
    }
  return { part, seconds, cpuSeconds, ...judged(part, code, said, last) }
}

const judged = (
  part: Part,
  code: number,
  output: string,
  last: string,
): Pick<Result, 'passed' | 'failed' | 'output'> => {
  const counts = countsOf(output)
  if (part.mustFail === true) {
    const caught = code !== 0 && counts !== undefined && counts.failed > 0
    return { passed: caught ? 1 : 0, failed: caught ? 0 : 1, output }
  }
  if (counts === undefined)
    return {
      passed: 0,
      failed: 1,
      output: `${output}\nended with code ${code} and without a count; it was in\n  ${last}`,
    }
  return { passed: counts.passed, failed: counts.failed === 0 && code !== 0 ? 1 : counts.failed, output }
}

/**
 * The vendors' side of a session, in any dialect. The request alone decides it, so that side requests of a program
 * disturb nothing.
 */
import type { JsonObject } from '../../src/core/json-body.ts'
import type { Script, ScriptedReply, UnderstoodRequest } from '../clients/vendors/script.ts'

type ToolUse = { readonly name: string; readonly args: JsonObject }
/** The call by which a program's own tool runs a command. */
export type RunTool = (command: string) => ToolUse

export const words = {
  greeting: 'Good day from the vendor.',
  done: 'All steps are done: ',
  refused: 'The scripted failure.',
  slowly: 'This sentence is told slowly and never',
} as const

/** The prompts of a session, beside the greeting of the recipe. */
export type Deed = 'work' | 'march' | 'wait' | 'fail'

const mark = 'Turnpike session: '
const lines = 600

/** A long text, the same each time: a program sends it with every turn, so that a cache is worthwhile. */
const context = Array.from(
  { length: lines },
  (_none, line) => `${line}: measured ${(line * 7919) % 10_007} at station ${(line * 31) % 97}`,
).join('\n')

export const promptFor = (deed: Deed): string =>
  `${mark}${deed}.${deed === 'work' ? ` Mind these measurements:\n${context}` : ''}`

export const results = { first: 'first-one', second: 'second-two', error: 'missing.txt' } as const

/** Two tools at once, then one that fails, then a text that quotes what they said. */
const workOf = (run: RunTool, { rounds }: UnderstoodRequest): ScriptedReply => {
  const steps: ToolUse[][] = [
    [run(`echo ${results.first}`), run(`echo ${results.second}`)],
    [run(`cat ./${results.error}`)],
  ]
  const calls = steps[rounds.length]
  if (calls === undefined) return { text: words.done + rounds.flat().join(' | '), calls: [] }
  return { ...(rounds.length === 0 ? { text: 'I will look.' } : {}), calls }
}

/** The turns of tools in a long session. */
export const MARCH = 40

/** One tool after the other, then a text. */
const marchOf = (run: RunTool, { rounds }: UnderstoodRequest): ScriptedReply =>
  rounds.length < MARCH
    ? { calls: [run(`echo step-${rounds.length}`)] }
    : { text: words.done + rounds.flat().at(-1), calls: [] }

/**
 * The answers of a session to its own prompts. Side requests of a program, such as for a title of its window, bring
 * none of its tools and get a greeting, and so does everything else.
 */
export const sessionAnswers =
  (run: RunTool): Script =>
  (heard) => {
    const own = heard.tools.includes(run('').name)
    if (own && heard.prompt.includes(`${mark}work`)) return workOf(run, heard)
    if (own && heard.prompt.includes(`${mark}march`)) return marchOf(run, heard)
    if (own && heard.prompt.includes(`${mark}wait`)) return { text: words.slowly, calls: [], breaks: 'stall' }
    if (heard.prompt.includes(`${mark}fail`)) return 400
    return { text: words.greeting, calls: [] }
  }

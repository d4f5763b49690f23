/** The expensive steps of a warm call stay within a budget. It only shrinks: a commit that needs more says why. */
import { expect, test } from 'bun:test'

type Budget = Readonly<Record<string, number>>

const steps: Budget = {
  'regular expressions': 9,
  // One of them asks what the call is for, and one under which conditions it goes.
  'reads of headers': 18,
  'JSON.stringify': 4,
  'JSON.parse': 3,
  'clock reads': 23,
  timers: 0,
  'abort listeners': 1,
  'text encodings': 2,
  'text decodings': 2,
  'copies of members': 0,
}

/** Objects on the heap: a sixteenth of what sixteen calls at once make. */
const objects: Budget = {
  functions: 44,
  'scopes that functions keep': 71,
  objects: 124,
  arrays: 33,
  promises: 35,
  'async functions entered': 18,
  sets: 1,
  maps: 1,
  'big integers': 16,
  strings: 66,
}

const counted = async (script: string): Promise<Record<string, number>> => {
  const child = Bun.spawn([process.execPath, script], {
    cwd: `${import.meta.dir}/../..`,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(await new Response(child.stdout).text())
}

const over = (counts: Record<string, number>, budget: Budget) =>
  Object.entries(counts).filter(([what, count]) => count > (budget[what] ?? 0))

/**
 * On a busy machine calls that began together end apart, and share less, and the server does work of its own between
 * them: then they are counted anew.
 */
const TRIES = 4

const countedWithin = async (script: string, budget: Budget): Promise<Record<string, number>> => {
  let counts = await counted(script)
  for (let tries = 1; tries < TRIES && over(counts, budget).length > 0; tries++)
    counts = await counted(script)
  return counts
}

test('a plain call on SQLite makes no more of each costly step than its budget', async () => {
  const counts = await countedWithin('bench/count.ts', steps)
  // What is counted must be there: a call cannot do without these.
  expect(counts['JSON.parse']).toBeGreaterThan(0)
  expect(counts['clock reads']).toBeGreaterThan(0)
  expect(over(counts, steps)).toEqual([])
})

test('a plain call on SQLite makes no more objects of each kind than its budget', async () => {
  const counts = await countedWithin('bench/objects.ts', objects)
  expect(counts.objects).toBeGreaterThan(0)
  expect(counts.promises).toBeGreaterThan(0)
  expect(over(counts, objects)).toEqual([])
})

/** What a warm call does that costs stays within a budget. It only shrinks: who needs more says why in the commit. */
import { expect, test } from 'bun:test'

const budget: Readonly<Record<string, number>> = {
  'regular expressions': 9,
  'reads of headers': 25,
  'JSON.stringify': 4,
  'JSON.parse': 3,
  'clock reads': 23,
  timers: 0,
  'abort listeners': 1,
  'text encodings': 2,
  'text decodings': 2,
  'copies of members': 0,
}

test('a plain call on SQLite makes no more of each costly step than its budget', async () => {
  const child = Bun.spawn([process.execPath, 'bench/count.ts'], {
    cwd: `${import.meta.dir}/../..`,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const counts: Record<string, number> = JSON.parse(await new Response(child.stdout).text())
  // What is counted must be there: a call cannot do without these.
  expect(counts['JSON.parse']).toBeGreaterThan(0)
  expect(counts['clock reads']).toBeGreaterThan(0)
  const over = Object.entries(counts).filter(([what, count]) => count > (budget[what] ?? 0))
  expect(over).toEqual([])
})

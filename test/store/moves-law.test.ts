/**
 * Random histories of organisations that move between three ledgers, are killed at each step and moved again, by two commands
 * at once, while they call, pay and revoke: whenever somebody looks, each amount is in the books once, and no organisation
 * can spend in two cells.
 */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { openTestStore } from '../memory-ledger.ts'
import { drawn } from '../sample.ts'
import { engines, type TestEngine } from './engines.ts'
import { begin, type Cell, commands, look, type MovesWorld, moving } from './moves-world.ts'

const [file, postgres] = engines.filter(({ lasting }) => lasting)
if (file === undefined || postgres === undefined) throw new Error('there are two engines')

const names = Object.keys(commands).filter((name): name is keyof typeof commands => name in commands)
const step = fc.record({
  name: fc.oneof(...names.map((name) => ({ arbitrary: fc.constant(name), weight: commands[name].weight }))),
  a: fc.nat({ max: 10_000 }),
  b: fc.nat({ max: 10_000 }),
  c: fc.nat({ max: 10_000 }),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const one = (name: Step['name'], b = 0, c = 0): Step => ({ name, a: 0, b, c })
/** What every run plays first: each step is the last before a kill, and each way to go on. */
const first: readonly Step[] = [
  one('open', 0, 1),
  one('batch'),
  one('move'),
  one('batch'),
  one('move', 0, 1),
  one('stay'),
  one('move', 0, 1),
  one('move'),
  one('move', 0, 2),
  one('topUp'),
  one('stay'),
  one('move'),
  one('move', 0, 3),
  one('topUp'),
  one('open', 0, 1),
  one('move'),
  one('move', 1),
  one('open'),
  one('end'),
  one('refund'),
  one('revoke'),
  one('race', 0, 1),
  one('bar'),
  one('move', 1, 2),
  one('move'),
  one('wrongCell'),
]

/** Numbers of the commands in three ledgers, one on each of these engines. */
const play = async (
  on: readonly TestEngine[],
  steps: readonly Step[],
  seen: Map<string, number>,
): Promise<void> => {
  const databases = await Promise.all(on.map((engine) => engine.fresh()))
  const cells = await Promise.all(
    databases.map(
      async ({ url }, at): Promise<Cell> => ({
        name: 'abc'[at] ?? '',
        url,
        store: await openTestStore({ url }),
      }),
    ),
  )
  try {
    const organisations = [await begin({ cells }, 'o1'), await begin({ cells }, 'o2')]
    const world: MovesWorld = { cells, organisations, n: 0, seen }
    for (const { name, ...numbers } of steps) {
      world.n += 1
      await commands[name].does(world, numbers)
      if (name in moving) await look(world)
    }
    await look(world)
  } finally {
    await Promise.all(cells.map(({ store }) => store.close()))
    await Promise.all(databases.map(({ stop }) => stop()))
  }
}

/** What must have happened, or the histories show nothing. */
const HAPPENS = [
  'moved',
  'killed before leave',
  'killed before arrive',
  'killed before finish',
  'finished after leaving',
  'finished after left',
  'finished after arrived',
  'stayed',
  'stayed for a call',
  'not stayed',
  'came back',
  'one of two',
  'a line ended in another cell',
]

for (const { on, runs } of [
  { on: [file, file, file], runs: drawn(3, 12) },
  { on: [file, postgres, postgres], runs: drawn(1, 4) },
])
  test(`organisations that move have their money once, on ${on.map(({ name }) => name).join(', ')}`, async () => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 30, size: 'max' }), (steps) =>
        play(on, steps, seen),
      ),
      { numRuns: runs, examples: [[[...first]]], endOnFailure: true },
    )
    expect(HAPPENS.filter((what) => !seen.has(what))).toEqual([])
  })

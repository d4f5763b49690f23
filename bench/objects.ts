/**
 * The objects that one warm chat call makes on the heap, by kind, which does not depend on how busy the machine is.
 * `npm run bench:count` prints it as JSON; test/server/cost-of-a-call.test.ts holds it to a budget.
 */
import { heapStats } from 'bun:jsc'
import { plainCalls } from './plain-call.ts'

/** Calls at once: the calls that a commit settles share its objects. */
const AT_ONCE = 16
const WARM = 200
/** So few that no collection happens among them. */
const WAVES = 6
const ROUNDS = 7

/** The runtime's names of the kinds, and ours. */
const kinds: Readonly<Record<string, string>> = {
  Function: 'functions',
  JSLexicalEnvironment: 'scopes that functions keep',
  Object: 'objects',
  Array: 'arrays',
  Promise: 'promises',
  AsyncFunctionGenerator: 'async functions entered',
  Set: 'sets',
  Map: 'maps',
  BigInt: 'big integers',
  string: 'strings',
}

const calls = await plainCalls(AT_ONCE)
for (let time = 0; time < WARM; time++) await calls.round()
const rounds: Record<string, number>[] = []
for (let round = 0; round < ROUNDS; round++) {
  Bun.gc(true)
  const before = heapStats().objectTypeCounts
  for (let time = 0; time < WAVES; time++) await calls.round()
  const after = heapStats().objectTypeCounts
  rounds.push(
    Object.fromEntries(
      Object.keys(kinds).map((kind) => [
        kind,
        ((after[kind] ?? 0) - (before[kind] ?? 0)) / (WAVES * AT_ONCE),
      ]),
    ),
  )
}
/** The middle of the rounds: in some the server does something of its own, or the runtime collects. */
const middle = (kind: string): number =>
  rounds.map((round) => round[kind] ?? 0).sort((a, b) => a - b)[ROUNDS >> 1] ?? 0
await calls.stop()
process.stdout.write(
  `${JSON.stringify(Object.fromEntries(Object.entries(kinds).map(([kind, name]) => [name, Math.round(middle(kind))])))}\n`,
)
process.exit(0)

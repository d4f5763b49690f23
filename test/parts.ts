/** The parts of `npm test`: what each runs, and what it needs. */
import { isCi } from './sample.ts'

export type Part = {
  readonly name: string
  readonly command: readonly string[]
  /** It needs a PostgreSQL server. */
  readonly database?: boolean
  /** It starts the program, as one file that is made for the whole run. */
  readonly program?: boolean
  /** Only CI runs it, and whoever names it: it costs much, and rarely finds what the others do not. */
  readonly inCi?: true
  /** How many days it takes to run all its files, a share of them each day. CI, and whoever names it, runs all. */
  readonly rotates?: number
  /** The run must fail: its product is broken on purpose. */
  readonly mustFail?: boolean
}

const bun = process.execPath
const tests = (name: string, ...folders: string[]): Part => ({ name, command: [bun, 'test', ...folders] })
/** How many processes share the files: mostly they wait for processes, time-outs and ledgers. */
const shared = (workers: number, name: string, ...folders: string[]): Part =>
  tests(name, `--parallel=${workers}`, '--no-isolate', ...folders)
const onDatabase = (part: Part): Part => ({ ...part, database: true })
const onProgram = (part: Part): Part => ({ ...part, program: true })
const inCi = (part: Part): Part => ({ ...part, inCi: true })
/** So that a run outside CI takes minutes. */
const rotating = (rotates: number, part: Part): Part => ({ ...part, rotates })
const script = (name: string, ...command: string[]): Part => ({ name, command: [bun, ...command] })

/** Leaves the processor to the parts beside it. */
const yielding = (part: Part): Part => ({ ...part, command: ['nice', '-n', '10', ...part.command] })

const simulation = (from: number, seeds: number): Part =>
  script(
    `simulation, seeds ${from} to ${from + seeds - 1}`,
    'test/simulation/run.ts',
    '--from',
    String(from),
    '--seeds',
    String(seeds),
  )

/**
 * They run from the beginning to the end, in the time that all others leave: histories in virtual time, and in CI rules broken,
 * which proves the tests and not the clone; a fair sample of both (`npm run simulation` runs 2,000, `npm run mutations` all).
 */
export const beside: readonly Part[] = [
  yielding(simulation(1, isCi ? 60 : 30)),
  ...(isCi
    ? [yielding(onDatabase(script('mutations', 'test/simulation/mutations.ts', '--one-of', '6')))]
    : []),
]

/**
 * How many of the others run at once: enough to use a processor that most of them leave to others most of the time. With
 * twice as many, the same tests used half as much processor again.
 */
export const AT_ONCE = 5

/** Outside CI the long parts run a quarter of their files each day. */
const DAYS = 4

/** In the order in which they begin: first those that need no program, then the longest. */
export const inOrder: readonly Part[] = [
  tests('unit', 'src', 'packages', 'scripts', 'test/chaos', 'test/stand'),
  tests('tidy', 'test/tidy'),
  tests('runner', 'test/runner'),
  // Two rounds on PostgreSQL, two on a file, four in memory.
  onDatabase(script('fuzz', 'test/fuzz/run.ts', '--rounds', '8', '--seed', '1')),
  rotating(DAYS, onProgram(onDatabase(shared(3, 'whole server', 'test/server', 'test/security')))),
  rotating(DAYS, onProgram(onDatabase(shared(2, 'program and clients', 'test/cli', 'test/clients')))),
  rotating(DAYS, onProgram(onDatabase(shared(2, 'store', 'test/store')))),
  // `npm run chaos` runs as long as one likes.
  onProgram(script('chaos', 'test/chaos/run.ts', '--seconds', '10')),
  rotating(DAYS, onProgram(onDatabase(shared(2, 'payments', 'test/payments')))),
  rotating(DAYS, onProgram(onDatabase(tests('browser', 'test/browser')))),
  rotating(DAYS, onDatabase(tests('console', 'test/console'))),
  rotating(DAYS, onProgram(onDatabase(shared(2, 'control plane', 'test/control')))),
  rotating(DAYS, tests('products', 'test/products')),
  inCi(onProgram(tests('release', 'test/release'))),
  inCi({
    ...script('chaos of a mutant', 'test/chaos/run.ts', '--seconds', '4', '--mutate', 'answerfirst'),
    mustFail: true,
  }),
  inCi(onProgram(onDatabase(shared(2, 'operations', 'test/operations')))),
  inCi(onDatabase(tests('upgrade', 'test/upgrade'))),
  inCi(onProgram(onDatabase(tests('agents', 'test/agents')))),
]

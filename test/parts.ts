/** The parts of `npm test`: what each runs, and what it needs. */

export type Part = {
  readonly name: string
  readonly command: readonly string[]
  /** It needs a PostgreSQL server. */
  readonly database?: boolean
  /** It starts the program, as one file that is made for the whole run. */
  readonly program?: boolean
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
 * They run from the beginning to the end, in the time that all others leave: histories in virtual time, and rules broken,
 * a fair sample of both (`npm run simulation` runs 2,000, `npm run mutations` all).
 */
export const beside: readonly Part[] = [
  yielding(simulation(1, 60)),
  yielding(onDatabase(script('mutations', 'test/simulation/mutations.ts', '--sixth'))),
]

/** Groups run one after the other, the parts of a group side by side. */
export const groups: readonly (readonly Part[])[] = [
  [
    tests('tidy', 'test/tidy'),
    tests('unit', 'src', 'scripts', 'test/chaos'),
    tests('runner', 'test/runner'),
    // Two rounds on PostgreSQL, two on a file, four in memory.
    onDatabase(script('fuzz', 'test/fuzz/run.ts', '--rounds', '8', '--seed', '1')),
  ],
  // These wait more than they work. What they must catch they catch on a busy machine too.
  [
    onProgram(onDatabase(shared(3, 'whole server', 'test/server', 'test/security'))),
    onDatabase(tests('upgrade', 'test/upgrade')),
    onProgram(onDatabase(shared(2, 'program and clients', 'test/cli', 'test/clients'))),
    onProgram(tests('agents', 'test/agents')),
    onProgram(onDatabase(shared(2, 'store', 'test/store'))),
  ],
  [
    onDatabase(tests('console', 'test/console')),
    onProgram(onDatabase(tests('browser', 'test/browser'))),
    tests('products', 'test/products'),
    onProgram(onDatabase(shared(2, 'payments', 'test/payments'))),
    // Each waits for a third of its time. `npm run chaos` runs as long as one likes.
    onProgram(tests('release', 'test/release')),
    onProgram(script('chaos', 'test/chaos/run.ts', '--seconds', '10')),
    {
      ...script('chaos of a mutant', 'test/chaos/run.ts', '--seconds', '4', '--mutate', 'answerfirst'),
      mustFail: true,
    },
  ],
]

/** The rules of the house, each a function from a source to its violations. */
import { importsOf } from './graph.ts'
import type { Source } from './sources.ts'

/** Folders from top to bottom; a file imports only from its own or a lower one. */
export const folders = [
  'main.ts',
  'cli',
  'http',
  'console',
  'control',
  'gateway',
  'payment',
  'export',
  'backup',
  'assets',
  'cells',
  'book',
  'store',
  'transport',
  'routing',
  'products',
  'vendors',
  'media',
  'dialects',
  'admission',
  'pricing',
  'metering',
  'receipts',
  'ledger',
  'tenancy',
  'guardrails',
  'settings',
  'metrics',
  'core',
]
/**
 * Rooms of the larger folders, from top to bottom, with the same rule; '' is what lies in the folder itself. A call is
 * read from `call` down to `parts`.
 */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  cli: ['', 'serve', 'house', 'commands', 'run', 'config'],
  http: [
    'cells',
    'listen',
    '',
    'mcp',
    'pages',
    'account',
    'agents',
    'calls',
    'batches',
    'files',
    'operate',
    'request',
    'schema',
    'answer',
    'route',
  ],
  gateway: ['', 'batches', 'alerts', 'call', 'paid', 'jobs', 'answer', 'ask', 'enter', 'hold', 'parts'],
}
/** From here down nothing waits: no clock, randomness, network, process or SQL. */
const pureFrom = folders.indexOf('routing')

const LINES_MAX = 300
/** A call crosses the book again and again, so there one subject stays in one file: what is apart is crossed more often. */
const LINES_OF_BOOK_MAX = 450
/** Sources in one folder, without tests: more than a reader takes in at a glance are several subjects. */
const FILES_MAX = 25

export type Rule = (source: Source) => string[]

const isTest = ({ path }: Source) => path.endsWith('.test.ts') || !/^(?:src|packages)\//.test(path)

const folderOf = (path: string): string => path.split('/')[1] ?? ''

const roomOf = (path: string): string => (path.split('/').length > 3 ? (path.split('/')[2] ?? '') : '')

/** The file of the version, which belongs to no folder. */
const VERSION = 'package.json'

/** All that a package of built-in products may know of the program, as types. */
const INTERFACE = 'src/vendors/local/product.ts'
/** The only file that knows such a package, by the name of its entry. */
const REGISTER = 'src/transport/local-media/registered.ts'

/** Between the program and its packages stands one file of types, and one import of an entry. */
export const packageBorder: Rule = (source) => {
  if (isTest(source)) return []
  const { path, text } = source
  const crossed = importsOf(source).filter(({ from }) => from.split('/')[0] !== path.split('/')[0])
  if (path.startsWith('packages/'))
    return [
      ...crossed
        .filter(({ from }) => from !== INTERFACE)
        .map(({ from }) => `imports ${from}, not ${INTERFACE}`),
      ...(/^import (?!type )[^\n]*'[./]+\/src\/vendors/m.test(text)
        ? ['imports more than types of ours']
        : []),
    ]
  return [
    ...crossed.filter(({ from }) => from.startsWith('packages/')).map(({ from }) => `imports ${from}`),
    ...(/'#local-media'/.test(text) && path !== REGISTER
      ? [`imports a package, as only ${REGISTER} may`]
      : []),
  ]
}

export const importDirection: Rule = (source) => {
  if (isTest(source) || source.path.startsWith('packages/')) return []
  const from = folders.indexOf(folderOf(source.path))
  if (from < 0) return [`the folder '${folderOf(source.path)}' is not in the list of folders`]
  return importsOf(source).flatMap((one) =>
    one.from !== VERSION && (folders.indexOf(folderOf(one.from)) < from || isRoomAbove(one.from, source.path))
      ? [`imports ${one.from}, which is above it`]
      : [],
  )
}

/** Whether an import leads to a room above that of the file, in one folder. */
const isRoomAbove = (imported: string, path: string): boolean => {
  const order = rooms[folderOf(path)]
  if (order === undefined || folderOf(imported) !== folderOf(path)) return false
  return order.indexOf(roomOf(imported)) < order.indexOf(roomOf(path))
}

/** The folders that hold more sources than one subject has. */
export const crowded = (sources: readonly Source[]): string[] => {
  const counts = new Map<string, number>()
  for (const source of sources) {
    if (isTest(source)) continue
    const folder = source.path.slice(0, source.path.lastIndexOf('/'))
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, files]) => files > FILES_MAX)
    .map(([folder, files]) => `${folder} has ${files} sources, more than ${FILES_MAX}: give it rooms`)
}

export const importsNameTheFile: Rule = (source) =>
  importsOf(source)
    .filter(({ from }) => !/\.(tsx?|css|json|sql)$/.test(from))
    .map(({ from }) => `the import of ${from} must name the file with its extension`)

export const fileSize: Rule = (source) => {
  const lines = source.text.split('\n').length - 1
  const most = source.path.startsWith('src/book/') ? LINES_OF_BOOK_MAX : LINES_MAX
  return lines > most && !source.path.startsWith('test/') && !source.path.endsWith('.test.ts')
    ? [`${lines} lines, more than ${most}: split it by duty`]
    : []
}

export const firstLine: Rule = (source) =>
  /^\/\*\*[ \n]/.test(source.text) ? [] : ['must begin with a comment that says what the file is for']

type Ban = { readonly pattern: RegExp; readonly where: (source: Source) => boolean; readonly why: string }

const inSource = (source: Source) => !isTest(source)
const isPure = (source: Source) => inSource(source) && folders.indexOf(folderOf(source.path)) >= pureFrom
const inFolder =
  (...names: string[]) =>
  (source: Source) =>
    inSource(source) && names.includes(folderOf(source.path))

export const bans: readonly Ban[] = [
  {
    pattern: /^export default\b/m,
    where: () => true,
    why: 'no default exports: a thing has one name everywhere',
  },
  {
    pattern: /(?<![.\w])console\./,
    // Recipes hold programs of users as texts.
    where: (source) =>
      inSource(source) &&
      !/^src\/(?:products\/recipes\/|console\/web\/parts\/(?:keys\/snippets|play\/programs))/.test(
        source.path,
      ),
    why: 'no console: the log has known fields only',
  },
  { pattern: /\benum \w+ \{/, where: inSource, why: 'no enums: types must be erasable' },
  { pattern: /\bas unknown as\b/, where: inSource, why: 'no double casts: parse at the edge' },
  {
    pattern:
      /\b(?:Date\.now|performance\.now|Math\.random|randomUUID\w*|randomBytes|setTimeout|setInterval)\(/,
    where: (source) => isPure(source) && source.path !== 'src/core/time.ts',
    why: 'no clock, timer or randomness below the line: pass them in',
  },
  {
    pattern: /\bfetch\(|\bBun\.(?:serve|spawn|file|sql)\b|\bprocess\./,
    where: isPure,
    why: 'no network or process below the line',
  },
  { pattern: /\bparseFloat\(/, where: inSource, why: 'no parseFloat: it reads prefixes of nonsense' },
  { pattern: /\* ?1e9|\/ ?1e9|\* ?1_000_000_000\b/, where: inSource, why: 'no float arithmetic on money' },
  {
    pattern: /\bfrom 'bun:sqlite'|\bSQL\(/,
    where: (source) => inSource(source) && folderOf(source.path) !== 'store',
    why: 'SQL lives in store/',
  },
  {
    pattern: /process\.env/,
    where: inFolder('http', 'gateway', 'payment', 'assets', 'book', 'store', 'transport'),
    why: 'settings are read in cli/ and passed down',
  },
  {
    // A number behind the body of a test or hook, or on a line of its own behind it.
    pattern: /^ *\},\s*[\d_]{4,},?\s*\)$|\bsetDefaultTimeout\(|\{ (?:retry: \d+, )?timeout: [\d_]+ \}/m,
    where: ({ path }) => path.endsWith('.test.ts'),
    why: 'no time-out of its own for a test: test/patience.ts gives each what a busy machine does not use up',
  },
  {
    pattern: /\b(?:test|describe|it)\.(?:only|todo)\(/,
    where: () => true,
    why: 'no test may be singled out or promised',
  },
]

export const banned: Rule = (source) =>
  bans.filter(({ pattern, where }) => where(source) && pattern.test(source.code)).map(({ why }) => why)

/** The words may not be in comments either. */
export const leftOvers: Rule = (source) =>
  source.path.startsWith('test/tidy/')
    ? []
    : [...source.text.matchAll(/\b(?:TO-?DO|FIX-?ME|X{3})\b/g)].map(
        ([word]) => `${word}: open an issue instead`,
      )

export const rules: Readonly<Record<string, Rule>> = {
  packageBorder,
  importDirection,
  importsNameTheFile,
  fileSize,
  firstLine,
  banned,
  leftOvers,
}

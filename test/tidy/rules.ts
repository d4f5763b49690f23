/** The rules of the house, each a function from a source to what is wrong with it. */
import { importsOf } from './graph.ts'
import type { Source } from './sources.ts'

/** Folders from top to bottom; a file imports only from its own or a lower one. */
export const folders = [
  'main.ts',
  'cli',
  'http',
  'gateway',
  'payment',
  'book',
  'store',
  'transport',
  'routing',
  'vendors',
  'dialects',
  'admission',
  'pricing',
  'metering',
  'receipts',
  'ledger',
  'tenancy',
  'core',
]
/** From here down nothing waits: no clock, randomness, network, process or SQL. */
const pureFrom = folders.indexOf('routing')

const LINES_MAX = 300
const FUNCTION_LINES_MAX = 60

export type Rule = (source: Source) => string[]

const isTest = ({ path }: Source) => path.endsWith('.test.ts') || !path.startsWith('src/')

const folderOf = (path: string): string => path.split('/')[1] ?? ''

export const importDirection: Rule = (source) => {
  if (isTest(source)) return []
  const from = folders.indexOf(folderOf(source.path))
  if (from < 0) return [`the folder '${folderOf(source.path)}' is not in the list of folders`]
  return importsOf(source).flatMap((one) =>
    folders.indexOf(folderOf(one.from)) < from ? [`imports ${one.from}, which is above it`] : [],
  )
}

export const importsNameTheFile: Rule = (source) =>
  importsOf(source)
    .filter(({ from }) => !/\.(ts|json|sql)$/.test(from))
    .map(({ from }) => `the import of ${from} must name the file with its extension`)

export const fileSize: Rule = (source) => {
  const lines = source.text.split('\n').length - 1
  return lines > LINES_MAX && !source.path.startsWith('test/') && !source.path.endsWith('.test.ts')
    ? [`${lines} lines, more than ${LINES_MAX}: split it by duty`]
    : []
}

/** Functions by their indentation: from a line that opens one to the line that closes it at the same depth. */
export const functionSize: Rule = (source) => {
  if (isTest(source)) return []
  const lines = source.code.split('\n')
  return lines.flatMap((line, start) => {
    const opening =
      /^( *)(?:export )?(?:const \w+(?:: [^=]+)? = (?:async )?\(?.*=> \{|(?:async )?function\*? .*\{|(?:async )?#?\w+\(.*\)(?:: [^=]+)? \{)$/.exec(
        line,
      )
    if (!opening || /^ *(?:if|for|while|switch|catch)\b/.test(line)) return []
    const end = lines.findIndex((each, at) => at > start && each.startsWith(`${opening[1]}}`))
    const body = end - start + 1
    // A factory that returns a record of functions is measured by those functions.
    const isFactory = lines.slice(start, end).some((each) => each.startsWith(`${opening[1]}  return {`))
    return body > FUNCTION_LINES_MAX && !isFactory
      ? [`the function at line ${start + 1} has ${body} lines, more than ${FUNCTION_LINES_MAX}`]
      : []
  })
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
    pattern: /\bconsole\./,
    // Recipes hold programs of users as texts.
    where: (source) => inSource(source) && !source.path.startsWith('src/cli/recipes/'),
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
    where: inFolder('http', 'gateway', 'payment', 'book', 'store', 'transport'),
    why: 'settings are read in cli/ and passed down',
  },
  {
    pattern: /\b(?:test|describe|it)\.(?:only|todo)\(/,
    where: () => true,
    why: 'no test may be singled out or promised',
  },
]

export const banned: Rule = (source) =>
  bans.filter(({ pattern, where }) => where(source) && pattern.test(source.code)).map(({ why }) => why)

/** Words are looked for in the comments too. */
export const leftOvers: Rule = (source) =>
  source.path.startsWith('test/tidy/')
    ? []
    : [...source.text.matchAll(/\b(?:TODO|FIXME|XXX)\b/g)].map(([word]) => `${word}: open an issue instead`)

export const rules: Readonly<Record<string, Rule>> = {
  importDirection,
  importsNameTheFile,
  fileSize,
  functionSize,
  firstLine,
  banned,
  leftOvers,
}

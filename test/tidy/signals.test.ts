/** docs/signals.md lists every signal the code sends or reads, and none that it does not. */
import { expect, test } from 'bun:test'
import { routes } from '../../src/http/routes.ts'
import { readFile, sources } from './sources.ts'

const page = readFile('docs/signals.md')
const listed = new Set([...page.matchAll(/`([^`]+)`/g)].map((match) => (match[1] ?? '').toLowerCase()))

/** The folders that talk to callers; vendors and their credentials are another matter. */
const talking = sources().filter(
  ({ path }) =>
    /^src\/(?:gateway|http|dialects|payment|admission|core)\//.test(path) &&
    !path.endsWith('.test.ts') &&
    path !== 'src/gateway/ask/authorize.ts',
)
const found = (pattern: RegExp): Set<string> =>
  new Set(
    talking.flatMap(({ text }) => [...text.matchAll(pattern)].map((match) => (match[1] ?? '').toLowerCase())),
  )

/** Headers of our own, wherever they are set or read; those of a cloud's answers are not ours. */
const headers = found(/['"`](x-(?!amzn-)[a-z0-9-]+)['"`]/gi)
/** Others that are set or read by a name in lower case, as headers are. */
const others = found(
  /['"](retry-after|idempotent-replayed|idempotency-key|payment-[a-z]+|www-authenticate|upgrade|allow|access-control-[a-z-]+)['"](?=[:\])])/g,
)
const comments = found(/`: (x-[a-z-]+): /g)
/** Members that are written as text behind the others of an answer. */
const members = new Set(
  [...readFile('src/dialects/bill-members.ts').matchAll(/"([a-z_]+)":/g)].map((match) => match[1] ?? ''),
)

test('every header', () => {
  expect(headers.size).toBeGreaterThan(15)
  expect([...headers, ...others].filter((name) => !listed.has(name))).toEqual([])
})

test('every header that a route of the table reads', () => {
  const read = routes.flatMap((route) => route.headers ?? []).map((name) => name.toLowerCase())
  expect(read.filter((name) => !listed.has(name))).toEqual([])
})

test('every comment', () => {
  expect(comments.size).toBeGreaterThan(2)
  const said = [...page.matchAll(/^\| `: ([a-z-]+):/gm)].map((match) => match[1] ?? '')
  expect(said.sort()).toEqual([...comments].sort())
})

test('every member that is told with a bill or a balance', () => {
  expect(members.has('_remaining_credits')).toBe(true)
  expect([...members].filter((name) => !listed.has(name))).toEqual([])
})

test('nothing that the code does not know', () => {
  const names = [...page.matchAll(/`(x-[a-z-]+)`/gi)].map((match) => (match[1] ?? '').toLowerCase())
  const known = new Set([...headers, ...comments])
  expect(names.filter((name) => !known.has(name))).toEqual([])
})

test('README leads to it', () => {
  expect(readFile('README.md')).toContain('docs/signals.md')
})

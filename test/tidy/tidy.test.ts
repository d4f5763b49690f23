/** The repository keeps its own rules; and each rule is shown to catch what it is for. */
import { expect, test } from 'bun:test'
import { generatedDocs } from '../../scripts/generated-docs.ts'
import { refusalTable } from '../../src/core/refusal.ts'
import { vendors } from '../../src/vendors/index.ts'
import { importCycles, unusedExports } from './graph.ts'
import {
  banned,
  fileSize,
  firstLine,
  functionSize,
  importDirection,
  importsNameTheFile,
  leftOvers,
  rules,
} from './rules.ts'
import { filesBelow, readFile, sourceOf, sources } from './sources.ts'

/** Files that break a rule for a reason. This list may only get shorter. */
const exceptions: Readonly<Record<string, string>> = {}

for (const [name, rule] of Object.entries(rules))
  test(`every source keeps the rule: ${name}`, () => {
    const wrong = sources().flatMap((source) =>
      exceptions[`${name} ${source.path}`] === undefined
        ? rule(source).map((what) => `${source.path}: ${what}`)
        : [],
    )
    expect(wrong).toEqual([])
  })

const doc = '/** A file. */\n'
test.each([
  [
    'a lower folder that imports a higher one',
    importDirection,
    'src/core/x.ts',
    `${doc}import { a } from '../http/app.ts'\n`,
  ],
  ['a folder that is not in the list', importDirection, 'src/utils/x.ts', doc],
  ['an import without extension', importsNameTheFile, 'src/core/x.ts', `${doc}import { a } from './money'\n`],
  ['a long file', fileSize, 'src/core/x.ts', doc + 'const a = 1\n'.repeat(301)],
  ['a long function', functionSize, 'src/core/x.ts', `${doc}const f = () => {\n${'  a()\n'.repeat(61)}}\n`],
  ['a file that does not say what it is', firstLine, 'src/core/x.ts', 'const a = 1\n'],
  ['a clock below the line', banned, 'src/pricing/x.ts', `${doc}const a = Date.now()\n`],
  ['a fetch below the line', banned, 'src/vendors/x.ts', `${doc}await fetch('x')\n`],
  ['the environment above it', banned, 'src/http/x.ts', `${doc}const a = process.env.X\n`],
  [
    'SQL outside the store',
    banned,
    'src/gateway/x.ts',
    `${doc}import { Database } from 'bun:sqlite'\nnew SQL(1)\n`,
  ],
  ['money in floats', banned, 'src/pricing/x.ts', `${doc}const a = usd * 1e9\n`],
  ['a default export', banned, 'src/core/x.ts', `${doc}export default 1\n`],
  ['a left-over', leftOvers, 'src/core/x.ts', `${doc}// ${'TO'}DO later\n`],
])('%s is caught', (_what, rule, path, text) => {
  expect(rule(sourceOf(path, text)).length).toBeGreaterThan(0)
})

test('words in comments and strings are not code', () => {
  expect(
    banned(sourceOf('src/pricing/x.ts', `${doc}// Date.now() is banned\nconst a = 'Math.random()'\n`)),
  ).toEqual([])
})

test('no files import each other in a circle', () => {
  expect(importCycles(sources())).toEqual([])
})

test('what a source exports is imported by another file', () => {
  expect(unusedExports(sources())).toEqual([])
})

test('a circle of imports and an export for nobody are caught, and only they', () => {
  const files = [
    sourceOf('src/core/a.ts', "import type { B } from './b.ts'\nexport const a = 1\n"),
    sourceOf('src/core/b.ts', "import {\n  type C,\n  c as d,\n} from './c.ts'\nexport type B = 1\n"),
    sourceOf('src/core/c.ts', "import { a } from './a.ts'\nexport type C = 1\nexport const c = 1\n"),
    sourceOf('src/core/d.ts', "import './a.ts'\nimport { e } from './e.ts'\nexport const lost = 1\n"),
    sourceOf('src/core/e.ts', 'export const e = 1\n'),
  ]
  expect(importCycles(files).map((what) => what.slice(0, 13))).toEqual([
    'src/core/a.ts',
    'src/core/b.ts',
    'src/core/c.ts',
  ])
  expect(unusedExports(files)).toEqual(['src/core/d.ts exports lost, which nobody imports'])
})

test('every source file is imported by another, or is the program', () => {
  const all = sources()
  const texts = all.map(({ text }) => text).join('\n')
  const lost = all
    .filter(({ path }) => path.startsWith('src/') && !path.endsWith('.test.ts') && path !== 'src/main.ts')
    .filter(({ path }) => !texts.includes(`/${path.split('/').at(-1)}'`))
  expect(lost.map(({ path }) => path)).toEqual([])
})

test('every vendor file is in the list of vendors', () => {
  const files = filesBelow('src/vendors')
    .filter((path) => /^src\/vendors\/[a-z]+\.ts$/.test(path))
    .map((path) => path.slice('src/vendors/'.length, -3))
  expect(files.filter((name) => !['index', 'vendor', 'setup'].includes(name)).sort()).toEqual(
    vendors.map(({ id }) => id).sort(),
  )
})

test('migrations are numbered without gaps', () => {
  const numbers = new Set(
    filesBelow('src/store/migrations').map((path) => Number.parseInt(path.split('/').at(-1) ?? '', 10)),
  )
  expect([...numbers].sort((a, b) => a - b)).toEqual([...numbers].map((_number, index) => index + 1))
})

test('generated docs are what the tables in the code say: run npm run docs', () => {
  for (const [path, text] of Object.entries(generatedDocs()))
    expect([path, readFile(path) === text]).toEqual([path, true])
})

test('every document has just one title', () => {
  const wrong = filesBelow('')
    .filter((path) => path.endsWith('.md'))
    .filter(
      (path) =>
        readFile(path)
          .replace(/```[\s\S]*?```/g, '')
          .match(/^# /gm)?.length !== 1,
    )
  expect(wrong).toEqual([])
})

test('documents and comments name only files that are there', () => {
  const known = filesBelow('')
  const named = /(?<![\w/.-])(?:src|test|docs|scripts|bench)\/[\w./-]*\w/g
  const isThere = (name: string) => known.some((one) => one === name || one.startsWith(`${name}/`))
  const wrong = sources()
    .map(({ path, text }) => ({ path, text: (text.match(/\/\*\*[\s\S]*?\*\/|\/\/.*/g) ?? []).join('\n') }))
    .concat(known.filter((path) => path.endsWith('.md')).map((path) => ({ path, text: readFile(path) })))
    .flatMap(({ path, text }) =>
      (text.match(named) ?? []).filter((name) => !isThere(name)).map((name) => `${path}: ${name}`),
    )
  expect(wrong).toEqual([])
})

test('no file carries a path of one machine or the name of a package host', () => {
  const pattern = new RegExp(
    [
      '/work' + '/',
      '/ro' + 'ot/',
      '/home' + '/\\w',
      'registry\\.' + 'npmjs',
      'deb\\.' + 'debian\\.org',
      '"resolved": "[a-z+]+:',
    ].join('|'),
  )
  const wrong = filesBelow('')
    .filter((path) => !/\.(png|db)$|^test\/tidy\//.test(path))
    .filter((path) => pattern.test(readFile(path)))
  expect(wrong).toEqual([])
})

test('each dependency has its reason in docs/decisions', () => {
  const { dependencies, devDependencies }: { dependencies: object; devDependencies: object } = JSON.parse(
    readFile('package.json'),
  )
  const page = readFile('docs/decisions/dependencies.md')
  expect(
    Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !page.includes(`\`${name}\``)),
  ).toEqual([])
})

test('every refusal of the table is used by the code', () => {
  const used = sources()
    .filter(({ path }) => path.startsWith('src/'))
    .map(({ path, text }) =>
      path === 'src/core/refusal.ts' ? text.slice(text.indexOf('export type RefusalCode')) : text,
    )
    .join('\n')
  expect(Object.keys(refusalTable).filter((code) => !used.includes(`'${code}'`))).toEqual([])
})

/** The repository keeps its own rules; and each rule is shown to catch what it is for. */
import { expect, test } from 'bun:test'
import { generatedDocs } from '../../scripts/generated-docs.ts'
import { refusalTable } from '../../src/core/refusal-table.ts'
import { migrations } from '../../src/store/engine/migrate.ts'
import { chatVendors } from '../../src/vendors/chat-vendors.ts'
import { vendors } from '../../src/vendors/index.ts'
import { beside, inOrder } from '../parts.ts'
import { mutations } from '../simulation/mutation-list.ts'
import { functionSizeBut, functionsOf, type LongFunctions, staleLongFunctions } from './function-size.ts'
import { importCycles, unusedExports } from './graph.ts'
import {
  banned,
  crowded,
  fileSize,
  firstLine,
  folders,
  importDirection,
  importsNameTheFile,
  leftOvers,
  packageBorder,
  rooms,
  rules,
} from './rules.ts'
import { filesBelow, readFile, sourceOf, sources } from './sources.ts'

/** Files that break a rule for a reason. This list may only get shorter. */
const exceptions: Readonly<Record<string, string>> = {}

/** Functions that are still too long, and how long they may be. This list may only get shorter, and no number larger. */
const longFunctions: LongFunctions = {
  'src/dialects/messages/write-stream.ts messagesStreamWriter': { total: 114 },
  'src/store/ledger/commit-at-once.ts textsFor': { own: 72 },
}
const functionSize = functionSizeBut(longFunctions)

/** Folders that hold several subjects still. This list may only get shorter. */
const crowdedStill: readonly string[] = ['src/store/ledger']

for (const [name, rule] of Object.entries({ ...rules, functionSize }))
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
    `${doc}import { a } from '../../src/http/app.ts'\n`,
  ],
  [
    'a lower room that imports a higher one',
    importDirection,
    'src/gateway/parts/x.ts',
    `${doc}import { a } from '../../src/gateway/call/run-call.ts'\n`,
  ],
  ['a folder that is not in the list', importDirection, 'src/utils/x.ts', doc],
  [
    'a way into a package beside its entry',
    packageBorder,
    'src/http/x.ts',
    `${doc}import { a } from '../../packages/local-media/src/qr.ts'\n`,
  ],
  [
    'an entry that is taken elsewhere',
    packageBorder,
    'src/http/x.ts',
    `${doc}const a = await import('#local-media')\n`,
  ],
  [
    'a package that takes the program apart',
    packageBorder,
    'packages/local-media/src/x.ts',
    `${doc}import type { A } from '../../../src/core/money.ts'\n`,
  ],
  [
    'a package that runs parts of the program',
    packageBorder,
    'packages/local-media/src/x.ts',
    `${doc}import { a } from '../../../src/vendors/local/product.ts'\n`,
  ],
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
  ['a time-out of a test', banned, 'src/core/x.test.ts', `${doc}test('x', async () => {\n}, 20_000)\n`],
  ['one on its own line', banned, 'test/x.test.ts', `${doc}test(\n  'x',\n  () => {\n  },\n  60_000,\n)\n`],
  [
    'a race against time',
    banned,
    'test/x.test.ts',
    `${doc}await ${'Promise'}.race([a(), Bun.sleep(2_000)])\n`,
  ],
  ['a default export', banned, 'src/core/x.ts', `${doc}export default 1\n`],
  ['a left-over', leftOvers, 'src/core/x.ts', `${doc}// ${'TO'}DO later\n`],
])('%s is caught', (_what, rule, path, text) => {
  expect(rule(sourceOf(path, text)).length).toBeGreaterThan(0)
})

test('functions are measured by their own lines and with those inside them', () => {
  const inner = (name: string, lines: number) =>
    `  const ${name} = () => {\n${'    a()\n'.repeat(lines)}  }\n`
  const factory = sourceOf(
    'src/core/x.ts',
    `${doc}export const make = (\n  a: A,\n): Made => {\n${inner('b', 10)}${inner('c', 20)}  return {\n    d() {\n${'      a()\n'.repeat(5)}    },\n  }\n}\n`,
  )
  expect(functionsOf(factory).map(({ name, own, total }) => [name, own, total])).toEqual([
    ['make', 7, 45],
    ['b', 12, 12],
    ['c', 22, 22],
    ['d', 7, 7],
  ])
  const large = sourceOf('src/core/x.ts', `${doc}const make = () => {\n${inner('b', 55).repeat(2)}}\n`)
  expect(functionSize(large)).toEqual([
    'make at line 2 has 116 lines with the functions inside it, more than 100',
  ])
  expect(functionSizeBut({ 'src/core/x.ts make': { total: 116 } })(large)).toEqual([])
  expect(functionSizeBut({ 'src/core/x.ts make': { total: 115 } })(large)).toHaveLength(1)
  expect(functionSize(sourceOf('src/core/x.ts', `${doc}${'const a = 1\nif (a) {\n}\n'.repeat(50)}`))).toEqual(
    [],
  )
})

test('the list of long functions names only functions that are long', () => {
  expect(staleLongFunctions(longFunctions, sources())).toEqual([])
  expect(staleLongFunctions({ 'src/core/x.ts gone': { total: 200 } }, sources())).toEqual([
    'src/core/x.ts gone',
  ])
})

test('a folder holds what one subject has', () => {
  const folderOf = (finding: string) => finding.split(' ')[0] ?? ''
  expect(crowded(sources()).map(folderOf).toSorted()).toEqual(crowdedStill.toSorted())
  const many = Array.from({ length: 26 }, (_, at) => sourceOf(`src/core/x${at}.ts`, doc))
  expect(crowded(many).map(folderOf)).toEqual(['src/core'])
})

test('ARCHITECTURE.md lists the folders and rooms that are there, in their order', () => {
  const page = readFile('ARCHITECTURE.md')
  const below = (folder: string) =>
    new Set(
      filesBelow(folder).flatMap((path) => {
        const [name = '', ...rest] = path.slice(folder.length + 1).split('/')
        return rest.length > 0 ? [name] : []
      }),
    )
  const listed = page.match(/^ {4}main\.ts .*\n.*\n.*$/m)?.[0].match(/[\w.]+(?=\/)/g)
  expect(listed?.map(String)).toEqual(folders.slice(1))
  expect([...below('src')].toSorted()).toEqual(folders.slice(1).toSorted())
  for (const [folder, order] of Object.entries(rooms)) {
    const named = order.filter((room) => room !== '')
    expect([...below(`src/${folder}`)].toSorted()).toEqual(named.toSorted())
    const line = page.match(new RegExp(`^    ${folder}/ +(\\w+(?: · \\w+)*)$`, 'm'))?.[1]
    expect({ folder, rooms: line?.split(' · ') }).toEqual({ folder, rooms: named })
  }
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
  const all = [
    sourceOf('src/core/all.ts', "export * from './f.ts'\n"),
    sourceOf('src/core/f.ts', 'export const taken = 1\nexport const left = 1\n'),
    sourceOf('src/core/g.ts', "import * as all from './all.ts'\nall.taken\n"),
  ]
  expect(unusedExports(all)).toEqual(['src/core/f.ts exports left, which nobody imports'])
})

test('every source file is imported by another, or is the program', () => {
  const all = sources()
  const texts = all.map(({ text }) => text).join('\n')
  const lost = all
    .filter(({ path }) => path.startsWith('src/') && !path.endsWith('.test.ts') && path !== 'src/main.ts')
    // The entry of the pages' bundle.
    .filter(({ path }) => path !== 'src/console/web/main.tsx')
    .filter(({ path }) => !texts.includes(`/${path.split('/').at(-1)}'`))
  expect(lost.map(({ path }) => path)).toEqual([])
})

test('every vendor has its file, its folder if it has several, or its row in the table of those that only chat', () => {
  const inTable = chatVendors.map(({ id }) => id)
  const sellsNothing = vendors.filter(
    ({ catalogue, media }) => catalogue === undefined && media === undefined,
  )
  expect(inTable).toEqual(expect.arrayContaining(sellsNothing.map(({ id }) => id)))
  const files = filesBelow('src/vendors').filter((path) => !path.endsWith('.test.ts'))
  const alone = files.flatMap((path) => /^src\/vendors\/([a-z]+)\.ts$/.exec(path)?.[1] ?? [])
  const shared = ['index', 'vendor', 'setup', 'batches']
  const folders = [
    ...new Set(files.flatMap((path) => /^src\/vendors\/(\w+)\//.exec(path)?.[1] ?? [])),
  ].filter((name) => !shared.includes(name))
  for (const id of folders) expect(files).toContain(`src/vendors/${id}/${id}.ts`)
  expect([...alone.filter((name) => !shared.includes(name)), ...folders, ...inTable].sort()).toEqual(
    ['local', ...vendors.map(({ id }) => id)].sort(),
  )
  // A second file of a vendor makes a folder.
  const beside = files.filter((path) => /^src\/vendors\/([a-z]+)-/.test(path))
  expect(beside.filter((path) => vendors.some(({ id }) => path.startsWith(`src/vendors/${id}-`)))).toEqual([])
})

test('every test file belongs to a part of npm test', () => {
  const named = [...inOrder, ...beside].flatMap(({ command }) => command)
  const left = ['src', 'packages', 'scripts', 'test', 'bench']
    .flatMap(filesBelow)
    .filter((path) => path.endsWith('.test.ts') && !named.some((folder) => path.startsWith(`${folder}/`)))
  expect(left).toEqual([])
})

test('migrations are numbered from the first whole schema on, without gaps', () => {
  const numbers = new Set(
    filesBelow('src/store/migrations').map((path) => Number.parseInt(path.split('/').at(-1) ?? '', 10)),
  )
  expect([...numbers].sort((a, b) => a - b)).toEqual(migrations.map(({ version }) => version))
  expect(migrations.map(({ version }) => version - 41)).toEqual([...migrations.keys()])
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

test('the proofs that docs/proofs.md names are there', () => {
  const rows = [...readFile('docs/proofs.md').matchAll(/^\| (.*?) ?\| .* \| `([^`]+)` \| (.+) \|$/gm)]
  const wrong = rows.flatMap(([, row, path = '', words = '']) =>
    readFile(path).includes(words) ? [] : [`${row}: ${path} has no '${words}'`],
  )
  expect(wrong).toEqual([])
  const numbered = rows.map(([, row]) => Number(row)).filter((row) => row > 0)
  expect(new Set(numbered)).toEqual(new Set(Array.from({ length: 16 }, (_, at) => at + 1)))
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
  const named = (path: string): readonly string[] => {
    const { dependencies, devDependencies } = JSON.parse(readFile(path))
    return Object.keys({ ...dependencies, ...devDependencies })
  }
  const packages = filesBelow('packages').filter((path) => path.endsWith('/package.json'))
  const page = readFile('docs/decisions/dependencies.md')
  expect(
    ['package.json', ...packages].flatMap(named).filter((name) => !page.includes(`\`${name}\``)),
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

test('every mutation finds the one place that it changes', () => {
  const found = mutations.map(({ name, file, from }) => [name, readFile(file).split(from).length - 1])
  expect(found.filter(([, times]) => times !== 1)).toEqual([])
})

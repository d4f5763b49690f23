/**
 * `npm run house`: how often the control plane is said. The figures of docs/decisions/control.md, by reading the sources:
 * the lines of the acts and of their faces, how many files know a limit of a key by name, which methods of the store are
 * called from two faces, and how many addresses of the page have their types tied by hand.
 */
import { type Source, sources } from '../test/tidy/sources.ts'

const product = sources().filter(({ path }) => path.startsWith('src/') && !path.endsWith('.test.ts'))
const below = (...folders: string[]) =>
  product.filter(({ path }) => folders.some((folder) => path.startsWith(folder)))
const linesOf = (files: readonly Source[]) =>
  files.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)

const faces: Readonly<Record<string, readonly Source[]>> = {
  http: below('src/http/account/'),
  console: below('src/console/').filter(({ path }) => !path.startsWith('src/console/web/')),
  cli: below('src/cli/commands/', 'src/cli/run/'),
}

const methodsOf = (files: readonly Source[]) =>
  new Set(
    files.flatMap(({ code }) =>
      [...code.matchAll(/\b(?:store|book)\.(\w+)\.?(\w*)\(/g)].map(([, port, method]) => `${port}.${method}`),
    ),
  )
const called = Object.values(faces).map(methodsOf)
const twice = [...new Set(called.flatMap((names) => [...names]))].filter(
  (name) => called.filter((names) => names.has(name)).length > 1,
)

const page = below('src/console/web/')
const tied = page.reduce(
  (sum, { text }) => sum + (text.match(/\b(?:reading|ask)<(?!T>)[^>]+>\(/g)?.length ?? 0),
  0,
)

const row = (what: string, figure: string | number) => console.log(`| ${what} | ${figure} |`)
row('measure', 'figure')
row('---', '---')
row('lines of source, without tests', linesOf(product))
row('lines of the acts (src/control)', linesOf(below('src/control/')))
for (const [name, files] of Object.entries(faces)) row(`lines of the face ${name}`, linesOf(files))
row('files that name `spend_cap_usd`', product.filter(({ text }) => text.includes('spend_cap_usd')).length)
row('methods of store and book called from two faces', twice.length)
row('addresses of the page with a type tied by hand', tied)

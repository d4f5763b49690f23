/**
 * `npm run crossings`: how much of the code one reads to follow a call. It marks every function of src, runs one plain
 * call of chat completions and one that is translated from messages, and counts the files they enter and how often they
 * change from one file to another. It also measures the size of the code. An entry counts for the file whose function
 * is entered; returning to the caller does not count.
 */
import { plugin } from 'bun'
import { functionsOf } from '../test/tidy/function-size.ts'
import { root, sources } from '../test/tidy/sources.ts'
import { markFunctions } from './crossings/mark-functions.ts'
import { widest } from './crossings/members.ts'

const product = sources().filter(({ path }) => path.startsWith('src/') && !path.endsWith('.test.ts'))

/** The files in the order in which functions of theirs are entered, while a call is followed. */
const trail: string[] = []
let following = false
Object.assign(globalThis, {
  enterFile: (path: string) => {
    if (following) trail.push(path)
    return false
  },
})

plugin({
  name: 'marks',
  setup: (build) => {
    // The printed imports no longer say that these are texts.
    build.onLoad({ filter: /\.sql$/ }, async ({ path }) => ({
      loader: 'object',
      exports: { default: await Bun.file(path).text() },
    }))
    const transpiler = new Bun.Transpiler({ loader: 'ts' })
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const text = transpiler.transformSync(await Bun.file(path).text())
      const mark = `enterFile(${JSON.stringify(path.slice(root.length + 1))})`
      return { loader: 'js', contents: path.startsWith(`${root}/src/`) ? markFunctions(text, mark) : text }
    })
  },
})

type Followed = { readonly entries: number; readonly files: number; readonly switches: number }

const followOnce = async (call: () => Promise<Response>): Promise<Followed> => {
  trail.length = 0
  following = true
  const answer = await call()
  await answer.text()
  following = false
  if (!answer.ok) throw new Error(`the call was answered with ${answer.status}`)
  const switches = trail.filter((file, at) => at > 0 && file !== trail[at - 1]).length
  return { entries: trail.length, files: new Set(trail).size, switches }
}

const TIMES = 31

/** The shortest of many calls: beside others the server does things of its own, the more the busier the machine is. */
const follow = async (call: () => Promise<Response>): Promise<Followed> => {
  const all: Followed[] = []
  for (let time = 0; time < TIMES; time++) all.push(await followOnce(call))
  const shortest = all.sort((a, b) => a.switches - b.switches)[0]
  if (shortest === undefined) throw new Error('no call was followed')
  return shortest
}

// Loaded only now, so that it gets its marks.
const { startTestServer, chat } = await import('../test/server/harness.ts')
const server = await startTestServer()
const plain = await follow(() => server.post('/v1/chat/completions', chat()))
const translated = await follow(() => server.post('/v1/messages', chat({ max_tokens: 100 })))
await server.stop()

const lines = product.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
const functions = product.flatMap(functionsOf)
const longest = functions.reduce((most, each) => (each.total > most.total ? each : most))
const type = widest(product.map(({ code }) => code))
const row = (what: string, figure: string | number) => console.log(`| ${what} | ${figure} |`)
row('measure', 'figure')
row('---', '---')
row('lines of code in src, without tests', lines)
row('files', product.length)
for (const [name, { files, switches, entries }] of Object.entries({ plain, translated }))
  row(`a ${name} call: files, switches between files, functions entered`, `${files}, ${switches}, ${entries}`)
row('widest interface', `${type.name}, ${type.members} members`)
row('longest function, with those inside it', `${longest.name} in ${longest.path}, ${longest.total} lines`)

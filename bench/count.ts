/**
 * The expensive steps of one warm chat call, in counts, which do not depend on how busy the machine is. `npm run
 * bench:count` prints them as JSON; test/server/cost-of-a-call.test.ts holds them to a budget.
 */
import { plainCalls } from './plain-call.ts'

type Counts = Record<string, number>

const counts: Counts = {}
let counting = false

/** The function, whose calls are counted. */
const counted = <F extends (...args: never[]) => unknown>(what: string, original: F): F =>
  new Proxy(original, {
    apply: (target, self, args) => {
      if (counting) counts[what] = (counts[what] ?? 0) + 1
      return Reflect.apply(target, self, args)
    },
  })

const watch = (what: string, owner: object, ...names: string[]): void => {
  counts[what] = 0
  for (const name of names) {
    const original: unknown = Reflect.get(owner, name)
    if (typeof original !== 'function') throw new Error(`there is no ${name} to count`)
    if (!Reflect.set(owner, name, counted(what, original as never)))
      throw new Error(`${name} cannot be counted`)
  }
}

watch('regular expressions', RegExp.prototype, 'exec', 'test')
watch('reads of headers', Headers.prototype, 'get', 'has')
watch('JSON.stringify', JSON, 'stringify')
watch('JSON.parse', JSON, 'parse')
watch('clock reads', Date, 'now')
watch('clock reads', performance, 'now')
watch('timers', globalThis, 'setTimeout', 'setInterval')
watch('abort listeners', EventTarget.prototype, 'addEventListener')
watch('text encodings', TextEncoder.prototype, 'encode')
watch('text decodings', TextDecoder.prototype, 'decode')
watch('copies of members', Object, 'entries', 'assign', 'fromEntries')

const WARM = 200
const TIMES = 51

const calls = await plainCalls(1)
const call = calls.round
for (let time = 0; time < WARM; time++) await call()
/** The fewest of many calls: beside the others the server did something of its own. */
const fewest: Counts = {}
for (let time = 0; time < TIMES; time++) {
  for (const what of Object.keys(counts)) counts[what] = 0
  counting = true
  await call()
  counting = false
  for (const [what, count] of Object.entries(counts)) fewest[what] = Math.min(count, fewest[what] ?? count)
}
await calls.stop()
process.stdout.write(`${JSON.stringify(fewest)}\n`)
process.exit(0)

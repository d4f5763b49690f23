/**
 * What one warm chat call does that costs, in counts, which do not hang on how busy the machine is. `npm run bench:count`
 * prints them as JSON; test/server/cost-of-a-call.test.ts holds them to a budget.
 */
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

// Loaded only now, so that all of it calls what is counted.
const { listen } = await import('../src/http/listen.ts')
const { startTestServer, chat, completion } = await import('../test/server/harness.ts')

const WARM = 200
const TIMES = 51

const server = await startTestServer({ receipts: 'off' })
const listening = listen(server, { hostname: '127.0.0.1', port: 0, shared: false })
const { token } = await server.newKey({ rpm: 1_000_000 })
const answer = await completion('hello').text()
server.answerWith(async () => new Response(answer, { headers: { 'content-type': 'application/json' } }))
const request = {
  method: 'POST',
  headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  body: JSON.stringify(chat()),
}
const call = async (): Promise<void> => {
  const response = await fetch(`http://127.0.0.1:${listening.port}/v1/chat/completions`, request)
  await response.text()
  if (!response.ok) throw new Error(`the call was answered with ${response.status}`)
}
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
listening.stop()
await server.stop()
process.stdout.write(`${JSON.stringify(fewest)}\n`)
process.exit(0)

export {}

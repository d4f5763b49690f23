/**
 * `bun bench/batches.ts [lines] [bytes of a line] [rounds] [url]`: batches of that size on the built-in model, in a process
 * of its own. A first one makes it warm and shows memory. Then, in turns: processor of a call, and of a line of a batch alone;
 * how long one caller's calls take without a batch, and beside one.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endPrograms, startProgram } from '../test/program.ts'

const [lines = 50_000, bytes = 1_000, rounds = 1] = process.argv.slice(2, 5).map(Number)
const url = process.argv[5]
const ALONE_MS = 5_000
const TICKS_A_SECOND = 100
const AT_ONCE = 16

const home = mkdtempSync(join(tmpdir(), 'turnpike-bench-batches-'))
const settings = { PLAN_RPM: '1000000', LOG: 'error', ...(url === undefined ? {} : { DATABASE_URL: url }) }
const { address, token, child } = await startProgram(home, settings)
const headers = { authorization: `Bearer ${token}` }

const cpuS = (): number => {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND
}
const memory = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024

const asked = (n: number, size: number) => ({
  model: 'local/echo-1',
  max_tokens: 50,
  messages: [{ role: 'user', content: `say ${n} `.padEnd(size, 'word ') }],
})
/** What its main thread has run, in milliseconds: what a call waits for here, however busy the machine is. */
const mainMs = (): number =>
  Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6

type Took = { readonly ms: number; readonly mainMs: number }
const call = async (size = 100): Promise<Took> => {
  const at = performance.now()
  const mainAt = mainMs()
  const response = await fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(asked(0, size)),
  })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`a call was answered with ${response.status}`)
  return { ms: performance.now() - at, mainMs: mainMs() - mainAt }
}
/** Times calls one after the other while `goes` says so. */
const timed = async (goes: () => boolean): Promise<Took[]> => {
  const all: Took[] = []
  while (goes()) {
    all.push(await call())
    await Bun.sleep(5)
  }
  return all
}
const at = (all: readonly number[], part: number): number =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length * part)] ?? 0
const kinds = ['ms', 'mainMs'] as const
const of = (all: readonly Took[], kind: (typeof kinds)[number]): number[] => all.map((one) => one[kind])
const percentiles = (all: readonly Took[]): string =>
  `${kinds.map((kind) => [0.5, 0.99].map((part) => `p${part * 100} ${at(of(all, kind), part).toFixed(2)} ${kind}`).join(', ')).join('; ')} (${all.length})`

const path = join(home, 'lines.jsonl')
const line = (n: number) =>
  JSON.stringify({ custom_id: `l${n}`, method: 'POST', url: '/v1/chat/completions', body: asked(n, bytes) })
const writer = Bun.file(path).writer()
for (let n = 0; n < lines; n++) writer.write(`${line(n)}\n`)
await writer.end()

/** Processor of a call, where many come at once and share what lines of a batch share. */
const callUs = async (calls: number): Promise<number> => {
  const from = cpuS()
  let left = calls
  const caller = async () => {
    while (left-- > 0) await call(bytes)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, caller))
  return ((cpuS() - from) / calls) * 1e6
}
await callUs(2_000)
console.log(`before the first batch ${memory().toFixed(0)} MB`)

const form = new FormData()
form.set('purpose', 'batch')
form.set('file', Bun.file(path))
const file = (await (await fetch(`${address}/v1/files`, { method: 'POST', headers, body: form })).json()) as {
  id: string
}
console.log(`uploaded ${(Bun.file(path).size / 1e6).toFixed(0)} MB; ${memory().toFixed(0)} MB`)

type Ran = { readonly lineUs: number; readonly calls: readonly Took[] }
/** One batch of all lines: what a line took, and what calls beside it did. */
const run = async (besideCalls: boolean): Promise<Ran> => {
  const readAt = [performance.now(), cpuS()] as const
  let ended = false
  const beside = besideCalls ? timed(() => !ended) : []
  const began = await fetch(`${address}/v1/batches`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' },
    }),
  })
  let batch = (await began.json()) as any
  if (!began.ok) throw new Error(JSON.stringify(batch))
  const runAt = [performance.now(), cpuS()] as const
  const used: number[] = []
  while (batch.status !== 'completed') {
    await Bun.sleep(200)
    used.push(memory())
    batch = await (await fetch(`${address}/v1/batches/${batch.id}`, { headers })).json()
  }
  const [ms, cpu] = [performance.now() - runAt[0], cpuS() - readAt[1]]
  ended = true
  const calls = await beside
  const lineUs = (cpu / lines) * 1e6
  const quarters = [0.25, 0.5, 0.75, 1].map((part) => used[Math.ceil(used.length * part) - 1]?.toFixed(0))
  console.log(
    `read in ${((runAt[0] - readAt[0]) / 1000).toFixed(1)} s, ran in ${(ms / 1000).toFixed(1)} s (${(lines / (ms / 1000)).toFixed(0)} a second), ${quarters.join(', ')} MB after each quarter; ${JSON.stringify(batch.request_counts)} ${batch.cost_usd}`,
  )
  return { lineUs, calls }
}
await run(false)
const median = (all: readonly number[]): string => at(all, 0.5).toFixed(2)
const ofCalls: number[] = []
const ratios: Took[] = []
for (let round = 0; round < rounds; round++) {
  const callsUs = await callUs(4_000)
  const { lineUs } = await run(false)
  ofCalls.push(lineUs / callsUs)
  console.log(`processor of a call ${callsUs.toFixed(0)} µs, of a line ${lineUs.toFixed(0)}`)
  const until = performance.now() + ALONE_MS
  const alone = await timed(() => performance.now() < until)
  const { calls } = await run(true)
  const ratio = (kind: (typeof kinds)[number]) => at(of(calls, kind), 0.99) / at(of(alone, kind), 0.99)
  ratios.push({ ms: ratio('ms'), mainMs: ratio('mainMs') })
  console.log(`calls alone: ${percentiles(alone)}; beside it: ${percentiles(calls)}`)
}
if (rounds > 0)
  console.log(
    `a line takes ${median(ofCalls)} of a call's processor; p99 beside it is ${median(of(ratios, 'ms'))} times of without it, by the server's own work ${median(of(ratios, 'mainMs'))} (medians of ${rounds})`,
  )
await endPrograms()
rmSync(home, { recursive: true })

/**
 * `bun bench/sockets.ts [--sockets 5000] [--rounds 21]`: what sockets of responses cost. Opens so many, each with a
 * conversation of 16 KB, and tells the memory that they take; then the processor for a turn on a socket against that of the
 * same call over HTTP, in alternating rounds, with a conversation of 16 KB and one of 100 KB, as agents soon have. Writes both
 * into docs/performance.md with `--write`. Ends with 1 where the memory is 500 MB or more, or a turn of the longer
 * conversation costs more than the call.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { freePort } from '../test/free-port.ts'
import { cpuSeconds, median, residentMb } from './measure.ts'
import { rawClient } from './raw-client.ts'
import { framed, type RawSocket, rawSocket } from './raw-socket.ts'
import { type Server, startTurnpike, startUpstream } from './servers.ts'

const { values } = parseArgs({
  options: {
    sockets: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '21' },
    write: { type: 'boolean', default: false },
  },
})
const count = Number(values.sockets)
const [SHORT, LONG] = [16_000, 100_000]
const MEMORY_MB = 500
/** How many sockets open at once, and calls of a round. */
const AT_ONCE = 50
const CALLS = 1_600
const CONNECTIONS = 8

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

const words = 'The quick brown fox jumps over the lazy dog. '
/** An item of a conversation, of some two thousand bytes. */
const item = (at: number) => ({
  type: 'message',
  role: 'user',
  content: `${at}: ${words.repeat(44)}`,
})
const conversationOf = (bytes: number) =>
  Array.from({ length: Math.round(bytes / 2_000) }, (_none, at) => item(at))
const own = { type: 'message', role: 'user', content: 'Go on.' }
const request = { model: 'openai/gpt-4o-mini', store: false, max_output_tokens: 200 }

const messageOf = (more: object): Buffer =>
  framed(JSON.stringify({ type: 'response.create', ...request, ...more }))
const openSocket = (server: Server) => rawSocket(server.url, '/v1/responses', server.headers)
const idIn = (answer: Buffer): string => /"id":"(resp_[^"]*)"/.exec(answer.toString())?.[1] ?? ''

const beginning = (bytes: number) => messageOf({ input: conversationOf(bytes), stream_id: 'first' })

/** Memory that the sockets take, in MB, once each has had its turn. */
const measureMemory = async (server: Server) => {
  const begins = beginning(SHORT)
  // What a first socket brings with it, such as code that is compiled, is no part of the growth.
  const first = await openSocket(server)
  for (let at = 0; at < AT_ONCE; at++) await first.turn(begins)
  first.close()
  const before = residentMb(server)
  const open: RawSocket[] = []
  while (open.length < count) {
    const more = Math.min(AT_ONCE, count - open.length)
    const some = await Promise.all(Array.from({ length: more }, () => openSocket(server)))
    await Promise.all(some.map(({ turn }) => turn(begins)))
    open.push(...some)
  }
  const atOnce = residentMb(server)
  // The collector gives back by and by what the turns themselves took.
  await Bun.sleep(15_000)
  const after = residentMb(server)
  for (const { close } of open) close()
  return { before, atOnce, after, growth: after - before }
}

/** Processor microseconds for a turn, and for the same call over HTTP, by round. */
const measureProcessor = async (server: Server, bytes: number) => {
  const rounds = Number(values.rounds)
  const begins = beginning(bytes)
  const body = Buffer.from(
    JSON.stringify({ ...request, stream: true, input: [...conversationOf(bytes), own] }),
  )
  const headers = { 'content-type': 'application/json', ...server.headers }
  const http = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => rawClient(server.url, '/v1/responses', { headers, body })),
  )
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => openSocket(server)))
  const begin = async () => (await Promise.all(sockets.map(({ turn }) => turn(begins)))).map(idIn)
  /** Each turn goes on from the same response, which has a lane of its own, so that conversations stay as long. */
  const onSocket = async (ids: readonly string[]): Promise<void> => {
    await Promise.all(
      sockets.map(async ({ turn }, at) => {
        const message = messageOf({ input: [own], previous_response_id: ids[at] })
        for (let done = 0; done < CALLS / CONNECTIONS; done++) await turn(message)
      }),
    )
  }
  const overHttp = async (): Promise<void> => {
    await Promise.all(
      http.map(async ({ ask }) => {
        for (let done = 0; done < CALLS / CONNECTIONS; done++)
          if ((await ask()).status !== 200) throw new Error('a call over HTTP failed')
      }),
    )
  }
  const spent = async (work: () => Promise<void>): Promise<number> => {
    const before = cpuSeconds(server)
    await work()
    return ((cpuSeconds(server) - before) / CALLS) * 1e6
  }
  const pairs: { readonly socket: number; readonly http: number }[] = []
  for (let round = 0; round < rounds + 2; round++) {
    const ids = await begin()
    const socketFirst = round % 2 === 0
    const early = await spent(socketFirst ? () => onSocket(ids) : overHttp)
    const late = await spent(socketFirst ? overHttp : () => onSocket(ids))
    // The first two warm up.
    if (round >= 2) pairs.push(socketFirst ? { socket: early, http: late } : { socket: late, http: early })
  }
  for (const { close } of [...http, ...sockets]) close()
  return {
    socket: median(pairs.map(({ socket }) => socket)),
    http: median(pairs.map(({ http }) => http)),
    ratio: median(pairs.map(({ socket, http }) => socket / http)),
  }
}

const upstream = await startUpstream()
/** Measures on a server of its own: one that has worked holds memory that it can use again. */
const onServer = async <T>(measure: (server: Server) => Promise<T>): Promise<T> => {
  const server = await startTurnpike(upstream, {
    engine: 'sqlite',
    port: await freePort(),
    settings: {
      SOCKETS_MAX: '20000',
      KEY_SHARE_PERCENT: '100',
      OVERLOAD_MS: '0',
      SOCKET_IDLE_SECONDS: '900',
    },
  })
  try {
    return await measure(server)
  } finally {
    await server.stop()
  }
}

try {
  const memory = await onServer(measureMemory)
  const short = await onServer((server) => measureProcessor(server, SHORT))
  const long = await onServer((server) => measureProcessor(server, LONG))
  const compared = (what: string, it: typeof short) =>
    `| processor for a turn with ${what}, and for the same call over HTTP | ${it.socket.toFixed(0)} and ${it.http.toFixed(0)} µs, median of the pairs ${it.ratio.toFixed(2)} |`
  const rows = [
    '| what | value |',
    '| --- | --- |',
    `| ${count} sockets, each with a conversation of 16 KB | ${memory.growth.toFixed(0)} MB beside ${memory.before.toFixed(0)}: ${((memory.growth * 1024) / count).toFixed(0)} KB a socket; ${(memory.atOnce - memory.before).toFixed(0)} MB at the end of the load |`,
    compared('16 KB', short),
    compared('100 KB', long),
  ]
  say(rows.join('\n'))
  if (values.write) {
    const path = 'docs/performance.md'
    const [before = '', rest = ''] = readFileSync(path, 'utf8').split('<!-- sockets -->')
    const after = rest.split('<!-- end of sockets -->')[1] ?? ''
    const today = new Date().toISOString().slice(0, 10)
    const table = `<!-- sockets -->\nMeasured ${today}, Bun ${Bun.version}, SQLite.\n\n${rows.join('\n')}\n<!-- end of sockets -->`
    writeFileSync(path, `${before}${table}${after}`)
  }
  process.exitCode = memory.growth < MEMORY_MB && long.ratio <= 1 ? 0 : 1
} finally {
  await upstream.stop()
}
process.exit()

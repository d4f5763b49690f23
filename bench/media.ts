/**
 * `npx bun bench/media.ts`: the server's CPU for a picture made in one exchange, beside a chat call. The server is a
 * process of its own on SQLite with its folder of assets, called over HTTP; so is the vendor, which answers both after
 * the same time. Prints microseconds a call, and the ratio of the two. Options: --bytes of the picture, --connections,
 * --delay of the vendor in ms, --database sqlite or postgres.
 */
import { parseArgs } from 'node:util'
import { load, median } from './measure.ts'
import { startTurnpike, startUpstream } from './servers.ts'

const { values } = parseArgs({
  options: {
    bytes: { type: 'string', default: '2000' },
    connections: { type: 'string', default: '16' },
    delay: { type: 'string', default: '10' },
    database: { type: 'string', default: 'sqlite' },
  },
})
const ROUNDS = 7
const SECONDS = 1.5
const engine = values.database === 'postgres' ? 'postgres' : 'sqlite'
const connections = Number(values.connections)

const upstream = await startUpstream({ BENCH_DELAY: values.delay, BENCH_PICTURE: values.bytes })
const server = await startTurnpike(upstream, { engine, port: 8797, receipts: true })

const kinds = {
  chat: {
    path: '/v1/chat/completions',
    body: { model: 'openai/gpt-4o-mini', max_tokens: 200, messages: [{ role: 'user', content: 'a fox' }] },
  },
  picture: {
    path: '/v1/images/generations',
    body: { model: 'openai/gpt-image-2', prompt: 'a fox', response_format: 'url' },
  },
}
const micros = { chat: [] as number[], picture: [] as number[] }
try {
  for (let round = 0; round <= ROUNDS; round++)
    for (const kind of ['chat', 'picture'] as const) {
      const { path, body } = kinds[kind]
      const sample = await load({ ...server, path }, JSON.stringify(body), { connections, seconds: SECONDS })
      if (sample.failed > 0) throw new Error(`${sample.failed} of ${sample.calls} calls failed`)
      // The first turn warms up.
      if (round > 0) micros[kind].push(sample.cpuMicros)
    }
  const [chat, picture] = [median(micros.chat), median(micros.picture)]
  // Turn by turn, because the speed of a machine drifts.
  const times = Number(median(micros.picture.map((one, turn) => one / (micros.chat[turn] ?? 0))).toFixed(2))
  process.stdout.write(
    `${JSON.stringify({ chat_us: Math.round(chat), picture_us: Math.round(picture), times })}\n`,
  )
} finally {
  await server.stop()
  await upstream.stop()
}
process.exit(0)

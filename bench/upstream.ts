/**
 * A fast vendor for measurements: `bun bench/upstream.ts`. The model's name is its order: `json`, or `s<chunks>x<delay
 * ms>`. It answers whole after BENCH_DELAY ms, draws pictures of BENCH_PICTURE bytes, and answers responses as a stream.
 */
import { messageItem, response, responseEvents } from '../test/dialects/responses-vendor.ts'
import { png } from '../test/server/asset-rig.ts'

const answer = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-mini-2024-07-18',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'All is well. '.repeat(20) }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 200, completion_tokens: 60, total_tokens: 260 },
})
const encoder = new TextEncoder()
const chunk = (choices: object[], more: object = {}) =>
  encoder.encode(
    `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o-mini-2024-07-18', choices, ...more })}\n\n`,
  )
const word = chunk([{ index: 0, delta: { content: ' word' }, logprobs: null, finish_reason: null }])
const stop = chunk([{ index: 0, delta: {}, finish_reason: 'stop' }])
const usage = chunk([], { usage: { prompt_tokens: 200, completion_tokens: 60, total_tokens: 260 } })
const done = encoder.encode('data: [DONE]\n\n')

const responded = encoder.encode(responseEvents(response([messageItem('All is well. '.repeat(5))])).join(''))

const delayMs = Number(process.env.BENCH_DELAY ?? '0')
const drawn = png(64, 64, Number(process.env.BENCH_PICTURE ?? '0')).toString('base64')
const picture = JSON.stringify({ created: 1, data: [{ b64_json: drawn }] })

async function* events(chunks: number, delayMs: number, openMs: number): AsyncGenerator<Uint8Array> {
  if (delayMs > 0) await Bun.sleep(delayMs)
  for (let sent = 0; sent < chunks; sent++) {
    yield word
    // Each piece by itself, as a vendor sends them.
    await Bun.sleep(openMs > 0 ? openMs : 0)
  }
  yield stop
  yield usage
  yield done
}

const server = Bun.serve({
  port: Number(process.env.PORT ?? '0'),
  hostname: '127.0.0.1',
  idleTimeout: 0,
  maxRequestBodySize: 64 * 1024 * 1024,
  fetch: async (request) => {
    const text = await request.text()
    if (request.url.endsWith('/responses'))
      return new Response(responded, { headers: { 'content-type': 'text/event-stream' } })
    const order = /"user":"s(\d+)x(\d+)x(\d+)"/.exec(text)
    if (order === null && delayMs > 0) await Bun.sleep(delayMs)
    const whole = request.url.endsWith('/images/generations') ? picture : answer
    if (order === null) return new Response(whole, { headers: { 'content-type': 'application/json' } })
    return new Response(events(Number(order[1]), Number(order[2]), Number(order[3])) as never, {
      headers: { 'content-type': 'text/event-stream' },
    })
  },
})
process.stdout.write(`${server.port}\n`)

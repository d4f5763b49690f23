/**
 * A scripted vendor. The last message tells what to do, as JSON: tokens in and out, delay, failure. The usage it reports
 * is what it was told, so that the right charge is known beforehand.
 */
export type Order = {
  readonly input: number
  readonly output: number
  readonly delayMs: number
  readonly fail: '' | 'status' | 'break'
}

export type Upstream = { readonly port: number; readonly calls: () => number; stop(): void }

const encoder = new TextEncoder()

export const startUpstream = (): Upstream => {
  let calls = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: async (request) => {
      const body: any = await request.json()
      const order: Order = JSON.parse(body.messages.at(-1).content)
      calls++
      await Bun.sleep(order.delayMs)
      if (order.fail === 'status') return new Response('{"error":{"message":"busy"}}', { status: 500 })
      const usage = {
        prompt_tokens: order.input,
        completion_tokens: order.output,
        total_tokens: order.input + order.output,
      }
      if (body.stream !== true)
        return Response.json({
          id: 'c',
          object: 'chat.completion',
          created: 1,
          model: 'm',
          choices: [
            {
              index: 0,
              message: { role: 'assistant', content: 'x'.repeat(order.output) },
              finish_reason: 'stop',
            },
          ],
          usage,
        })
      return new Response(events(order, usage) as never, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  return { port: server.port!, calls: () => calls, stop: () => void server.stop(true) }
}

async function* events(order: Order, usage: object): AsyncGenerator<Uint8Array> {
  const chunk = (choices: object[], more: object = {}) =>
    encoder.encode(
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`,
    )
  yield chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }])
  for (let sent = 0; sent < Math.min(order.output, 12); sent++) {
    await Bun.sleep(order.delayMs / 10)
    if (order.fail === 'break' && sent === 3) return
    yield chunk([{ index: 0, delta: { content: 'x' }, finish_reason: null }])
  }
  yield chunk([{ index: 0, delta: {}, finish_reason: 'stop' }])
  yield chunk([], { usage })
  yield encoder.encode('data: [DONE]\n\n')
}

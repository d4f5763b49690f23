/** The openai package over its WebSocket of responses: each turn brings only what is new. */
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { count, model, prompt, run, tool, tryStep } from './step.mjs'

const client = new OpenAI({ maxRetries: 0 })
const argumentsOf = (text) => JSON.parse(text).command
const tools = [{ type: 'function', ...tool, strict: true }]

/** Sends a turn; resolves with its response. */
const turn = (socket, request) =>
  new Promise((resolve, reject) => {
    socket.once('response.completed', ({ response }) => resolve(response))
    socket.once('error', (error) => {
      socket.close()
      reject(error)
    })
    socket.send({ type: 'response.create', ...request })
  })

const work = async () => {
  const socket = new ResponsesWS(client)
  let input = [{ role: 'user', content: prompt }]
  let previous_response_id
  for (;;) {
    const response = await turn(socket, { model, input, tools, store: false, previous_response_id })
    count(response.usage.input_tokens, response.usage.output_tokens)
    const calls = response.output.filter(({ type }) => type === 'function_call')
    if (calls.length === 0) {
      socket.close()
      return response.output.flatMap(({ content }) => (content ?? []).map(({ text }) => text)).join('')
    }
    previous_response_id = response.id
    input = calls.map(({ call_id, arguments: text }) => ({
      type: 'function_call_output',
      call_id,
      output: tryStep(argumentsOf(text)).text,
    }))
  }
}

const wait = async (signal, leave) => {
  const socket = new ResponsesWS(client)
  socket.on('response.output_text.delta', () => leave())
  signal.addEventListener('abort', () => socket.close())
  const left = new Promise((resolve) => socket.once('close', resolve))
  await Promise.race([turn(socket, { model, input: prompt, tools, store: false }), left])
}

await run({ work, wait })

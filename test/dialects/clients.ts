/**
 * What a strict client of each dialect makes of an answer, and what it sends in its next turn. Each follows its API's
 * reference: it throws on an event out of place.
 */
import { isDeepStrictEqual } from 'node:util'
import { argsOf, type ClientView, eventsIn, must, nothing } from './client-view.ts'
import { cohereStream, cohereWhole, ollamaStream, ollamaWhole } from './small-clients.ts'

export type { ClientView } from './client-view.ts'

export type CallerId = 'chat' | 'messages' | 'gemini' | 'responses' | 'interactions' | 'cohere' | 'ollama'
export const callerIds: readonly CallerId[] = [
  'chat',
  'messages',
  'gemini',
  'responses',
  'interactions',
  'cohere',
  'ollama',
]

/** An annotation of OpenAI's dialects, which counts characters. */
const see = (
  seen: ClientView,
  known: boolean,
  { url, title, start_index, end_index }: any,
  text: string,
): void => {
  must(known && 0 <= start_index && start_index <= end_index && end_index <= text.length, `citation ${url}`)
  seen.cited.push({ url, title, said: text.slice(start_index, end_index) })
}

const seeChatMessage = (seen: ClientView, message: any): void => {
  seen.text += message.content ?? ''
  seen.thinking += message.reasoning_content ?? ''
  seen.refusal += message.refusal ?? ''
  for (const image of message.images ?? []) seen.images.push(image.image_url.url)
  seen.sound += message.audio?.data ?? ''
  for (const { type, url_citation } of message.annotations ?? [])
    see(seen, type === 'url_citation', url_citation, message.content ?? '')
  for (const call of message.tool_calls ?? []) {
    must(call.type === 'function' && call.id, `a call ${JSON.stringify(call)}`)
    seen.tools.push({ id: call.id, name: call.function.name, args: argsOf(call.function.arguments) })
  }
  seen.turn.push(message)
}

const chatWhole = (answer: any): ClientView => {
  const seen = nothing()
  must(answer.object === 'chat.completion', answer.object)
  seeChatMessage(seen, answer.choices[0].message)
  seen.finish = answer.choices[0].finish_reason
  seen.usage = answer.usage
  seen.ended = true
  return seen
}

const chatStream = (bytes: Uint8Array): ClientView => {
  const seen = nothing()
  const message: any = { role: 'assistant', content: null }
  for (const { data } of eventsIn(bytes)) {
    must(!seen.ended, 'something after [DONE]')
    if (data === '[DONE]') {
      seen.ended = true
      continue
    }
    const chunk = JSON.parse(data)
    if (chunk.error) {
      seen.error = chunk.error
      continue
    }
    if (chunk.usage) seen.usage = chunk.usage
    const choice = chunk.choices.find((one: any) => one.index === 0)
    if (choice === undefined) continue
    must(seen.finish === undefined || Object.keys(choice.delta).length === 0, 'content after the finish')
    takeChatDelta(message, choice.delta)
    seen.finish = choice.finish_reason ?? seen.finish
  }
  if (seen.error === undefined) seeChatMessage(seen, message)
  else seen.text = message.content ?? ''
  return seen
}

const takeChatDelta = (message: any, delta: any): void => {
  for (const name of ['content', 'reasoning_content', 'refusal'])
    if (typeof delta[name] === 'string') message[name] = (message[name] ?? '') + delta[name]
  for (const name of ['reasoning_details', 'images', 'annotations'])
    if (delta[name]) message[name] = [...(message[name] ?? []), ...delta[name]]
  if (delta.audio)
    message.audio = { ...delta.audio, data: (message.audio?.data ?? '') + (delta.audio.data ?? '') }
  for (const call of delta.tool_calls ?? []) {
    message.tool_calls ??= []
    const calls = message.tool_calls
    if (call.id) {
      must(call.index === calls.length, `tool ${call.index} after ${calls.length}`)
      calls.push({ id: call.id, type: call.type, function: { ...call.function } })
    } else {
      must(calls[call.index], `arguments of tool ${call.index}`)
      calls[call.index].function.arguments += call.function.arguments
    }
  }
}

const seeBlock = (seen: ClientView, block: any): void => {
  for (const { type, url, title } of block.citations ?? []) {
    must(block.type === 'text' && type === 'web_search_result_location', `a citation ${type}`)
    seen.cited.push({ url, title, said: block.text })
  }
  if (block.type === 'text') seen.text += block.text
  else if (block.type === 'thinking') seen.thinking += block.thinking
  else if (block.type === 'tool_use') seen.tools.push({ id: block.id, name: block.name, args: block.input })
  else if (block.type === 'image')
    seen.images.push(`data:${block.source.media_type};base64,${block.source.data}`)
  else must(block.type === 'redacted_thinking' && block.data, `a block ${block.type}`)
}

const messagesWhole = (answer: any): ClientView => {
  const seen = nothing()
  must(answer.type === 'message' && answer.role === 'assistant', answer.type)
  for (const block of answer.content) seeBlock(seen, block)
  seen.finish = answer.stop_reason
  seen.usage = answer.usage
  seen.ended = true
  seen.turn.push({ role: 'assistant', content: answer.content })
  return seen
}

const messagesStream = (bytes: Uint8Array): ClientView => {
  const seen = nothing()
  const blocks: any[] = []
  let open: any
  let json = ''
  let begun = false
  for (const { name, data } of eventsIn(bytes)) {
    const event = JSON.parse(data)
    must(name === event.type, `an event named ${name} of type ${event.type}`)
    must(!seen.ended, 'something after message_stop')
    if (event.type === 'error') {
      must(typeof event.error.type === 'string' && typeof event.error.message === 'string', 'the error')
      seen.error = event.error
      continue
    }
    if (event.type === 'message_start') {
      must(!begun, 'a second message_start')
      must(event.message.id !== '' && event.message.model !== '', 'a message without a name')
      begun = true
      continue
    }
    if (event.type === 'ping') continue
    must(begun, `${event.type} before message_start`)
    if (event.type === 'content_block_start') {
      must(open === undefined && event.index === blocks.length, `block ${event.index}`)
      open = structuredClone(event.content_block)
      json = ''
    } else if (event.type === 'content_block_delta') {
      must(open !== undefined && event.index === blocks.length, `delta of block ${event.index}`)
      json += takeBlockDelta(open, event.delta)
    } else if (event.type === 'content_block_stop') {
      must(open !== undefined && event.index === blocks.length, `stop of block ${event.index}`)
      if (open.type === 'tool_use' && json !== '') open.input = argsOf(json)
      blocks.push(open)
      open = undefined
    } else if (event.type === 'message_delta') {
      must(open === undefined, 'message_delta in a block')
      seen.finish = event.delta.stop_reason
      seen.usage = event.usage
    } else {
      must(event.type === 'message_stop' && seen.finish !== undefined, event.type)
      seen.ended = true
    }
  }
  if (open?.type === 'text' && seen.error) blocks.push(open)
  for (const block of blocks) seeBlock(seen, block)
  seen.turn.push({ role: 'assistant', content: blocks })
  return seen
}

/** Adds one delta to the open block; returns the JSON of a tool's input. */
const takeBlockDelta = (open: any, delta: any): string => {
  const places: Record<string, [string, string]> = {
    text_delta: ['text', 'text'],
    thinking_delta: ['thinking', 'thinking'],
    signature_delta: ['thinking', 'signature'],
    input_json_delta: ['tool_use', 'partial_json'],
    citations_delta: ['text', 'citation'],
  }
  const place = places[delta.type]
  must(place !== undefined && open.type === place[0], `${delta.type} in ${open.type}`)
  const [, member] = place as [string, string]
  if (member === 'partial_json') return delta.partial_json
  if (member === 'citation') {
    open.citations = [...(open.citations ?? []), delta.citation]
    return ''
  }
  open[member] = (open[member] ?? '') + delta[member]
  return ''
}

const seeParts = (seen: ClientView, parts: any[]): void => {
  for (const part of parts) {
    if (part.functionCall)
      seen.tools.push({
        id: part.functionCall.id,
        name: part.functionCall.name,
        args: part.functionCall.args,
      })
    else if (part.inlineData?.mimeType.startsWith('audio/')) seen.sound += part.inlineData.data
    else if (part.inlineData)
      seen.images.push(`data:${part.inlineData.mimeType};base64,${part.inlineData.data}`)
    else if (part.thought) seen.thinking += part.text
    else seen.text += part.text
  }
}

const takeGemini = (seen: ClientView, answer: any): void => {
  if (answer.error) {
    must(Number.isInteger(answer.error.code) && typeof answer.error.status === 'string', 'the error')
    seen.error = answer.error
    return
  }
  const candidate = answer.candidates?.find((one: any) => (one.index ?? 0) === 0)
  seeParts(seen, candidate?.content?.parts ?? [])
  if (candidate?.content) seen.turn.push(candidate.content)
  const { groundingChunks = [], groundingSupports = [] } = candidate?.groundingMetadata ?? {}
  for (const { segment, groundingChunkIndices } of groundingSupports) {
    const bytes = Buffer.from(seen.text).subarray(segment.startIndex, segment.endIndex).toString()
    must(bytes === segment.text, `a segment ${segment.text} where ${bytes} stands`)
    for (const index of groundingChunkIndices) {
      const { uri, title } = groundingChunks[index].web
      seen.cited.push({ url: uri, title, said: segment.text })
    }
  }
  seen.finish = candidate?.finishReason ?? seen.finish
  seen.usage = answer.usageMetadata ?? seen.usage
  seen.ended = seen.finish !== undefined
}

const geminiWhole = (answer: any): ClientView => {
  const seen = nothing()
  takeGemini(seen, answer)
  return seen
}

const geminiStream = (bytes: Uint8Array): ClientView => {
  const seen = nothing()
  for (const { data } of eventsIn(bytes)) takeGemini(seen, JSON.parse(data))
  return seen
}

const seeItem = (seen: ClientView, item: any): void => {
  switch (item.type) {
    case 'message':
      for (const part of item.content) {
        if (part.type === 'refusal') seen.refusal += part.refusal
        else seen.text += part.text
        for (const annotation of part.annotations ?? [])
          see(seen, annotation.type === 'url_citation', annotation, part.text)
      }
      break
    case 'reasoning':
      for (const part of item.summary) seen.thinking += part.text
      break
    case 'function_call':
      seen.tools.push({ id: item.call_id, name: item.name, args: argsOf(item.arguments) })
      break
    case 'custom_tool_call':
      seen.tools.push({ id: item.call_id, name: item.name, args: { input: item.input } })
      break
    default:
      must(item.type === 'image_generation_call', `an item ${item.type}`)
      seen.images.push(`data:image/${item.output_format};base64,${item.result}`)
  }
  seen.turn.push(item)
}

const responsesWhole = (answer: any): ClientView => {
  const seen = nothing()
  must(answer.object === 'response', answer.object)
  for (const item of answer.output) seeItem(seen, item)
  seen.finish = answer.incomplete_details?.reason ?? answer.status
  seen.usage = answer.usage
  seen.ended = true
  return seen
}

const responsesStream = (bytes: Uint8Array): ClientView => {
  const seen = nothing()
  const items: any[] = []
  let sequence = 0
  let last: any
  let said = ''
  let id: string | undefined
  for (const { name, data } of eventsIn(bytes)) {
    const event = JSON.parse(data)
    must(name === event.type, `an event named ${name} of type ${event.type}`)
    must(event.sequence_number === sequence++, `number ${event.sequence_number}`)
    must(last === undefined, 'something after the response')
    if (event.response) {
      must(id === undefined || id === event.response.id, 'a response that changes its id')
      id = event.response.id
    }
    if (event.type === 'error') seen.error = event
    else if (/^response\.(?:completed|incomplete|failed)$/.test(event.type)) last = event.response
    else if (event.type === 'response.output_item.added') {
      must(event.output_index === items.length, `item ${event.output_index}`)
      said = ''
    } else if (event.type === 'response.output_item.done') {
      must(event.output_index === items.length, `item ${event.output_index}`)
      const whole = event.item.arguments ?? event.item.input ?? textsOf(event.item)
      must(said === '' || said === whole, `an item of ${whole} told as ${said}`)
      items.push(event.item)
    } else if (/\.delta$/.test(event.type)) said += event.delta
    if (event.item_id !== undefined) must(event.output_index === items.length, `${event.type} of no item`)
  }
  if (last?.status === 'failed') {
    for (const item of items) seeItem(seen, item)
    if (items.length === 0) seen.text = said
    return seen
  }
  if (last === undefined) return seen
  must(JSON.stringify(last.output) === JSON.stringify(items), 'a response of other items than those told')
  return responsesWhole(last)
}

const textsOf = (item: any): string =>
  [...(item.content ?? []), ...(item.summary ?? [])]
    .map((part: any) => part.text ?? part.refusal ?? '')
    .join('')

const seeStep = (seen: ClientView, step: any): void => {
  switch (step.type) {
    case 'thought':
      for (const part of step.summary ?? []) seen.thinking += part.text
      break
    case 'function_call':
      must(step.id !== '' && typeof step.arguments === 'object', `a call ${JSON.stringify(step)}`)
      seen.tools.push({ id: step.id, name: step.name, args: step.arguments })
      break
    default:
      must(step.type === 'model_output', `a step ${step.type}`)
      for (const part of step.content ?? []) {
        if (part.type === 'image') seen.images.push(`data:${part.mime_type};base64,${part.data}`)
        else if (part.type === 'audio') seen.sound += part.data
        else {
          must(part.type === 'text', `a content ${part.type}`)
          seen.text += part.text
          const bytes = Buffer.from(part.text)
          for (const { type, url, title, start_index, end_index } of part.annotations ?? []) {
            must(
              type === 'url_citation' && start_index <= end_index && end_index <= bytes.length,
              `a source ${url}`,
            )
            seen.cited.push({ url, title, said: bytes.subarray(start_index, end_index).toString() })
          }
        }
      }
  }
  seen.turn.push(step)
}

const interactionsWhole = (answer: any): ClientView => {
  const seen = nothing()
  must(answer.object === 'interaction' && /^int_\w+$/.test(answer.id), answer.object)
  for (const step of answer.steps) seeStep(seen, step)
  seen.finish = answer.status
  seen.usage = answer.usage
  seen.ended = true
  return seen
}

/** Adds one delta to the open step; returns the JSON of a call's arguments. */
const takeStepDelta = (step: any, delta: any): string => {
  const place = step.type === 'thought' ? 'summary' : 'content'
  const content = delta.type === 'thought_summary' ? delta.content : delta
  if (delta.type === 'arguments_delta') {
    must(step.type === 'function_call', `arguments of a ${step.type}`)
    return delta.arguments
  }
  if (delta.type === 'thought_signature') {
    must(step.type === 'thought' && step.signature === undefined, 'a second signature')
    step.signature = delta.signature
    return ''
  }
  must(
    step.type === (delta.type === 'thought_summary' ? 'thought' : 'model_output'),
    `${delta.type} in ${step.type}`,
  )
  step[place] ??= []
  const last = step[place].at(-1)
  if (delta.type === 'text_annotation_delta')
    last.annotations = [...(last.annotations ?? []), ...delta.annotations]
  else if (content.type === 'text' && last?.type === 'text') last.text += content.text
  else step[place].push({ ...content })
  return ''
}

const interactionsStream = (bytes: Uint8Array): ClientView => {
  const seen = nothing()
  const steps: any[] = []
  let open: any
  let json = ''
  let id: string | undefined
  let last: any
  for (const { name, data } of eventsIn(bytes)) {
    must(!seen.ended, 'something after [DONE]')
    if (name === 'done') {
      must(data === '[DONE]' && last !== undefined, 'the end')
      seen.ended = true
      continue
    }
    const event = JSON.parse(data)
    must(
      name === event.event_type && last === undefined,
      `an event named ${name} of type ${event.event_type}`,
    )
    must((id === undefined) === (name === 'interaction.created'), `${name} out of place`)
    const named = event.interaction?.id ?? event.interaction_id
    id ??= named
    must(named === undefined || named === id, 'an interaction that changes its id')
    if (name === 'step.start') {
      must(open === undefined && event.index === steps.length, `step ${event.index}`)
      open = structuredClone(event.step)
      json = ''
    } else if (name === 'step.delta') {
      must(open !== undefined && event.index === steps.length, `delta of step ${event.index}`)
      json += takeStepDelta(open, event.delta)
    } else if (name === 'step.stop') {
      must(open !== undefined && event.index === steps.length, `stop of step ${event.index}`)
      if (json !== '') open.arguments = argsOf(json)
      steps.push(open)
      open = undefined
    } else if (name === 'error') {
      must(typeof event.error.message === 'string' && typeof event.error.code === 'string', 'the error')
      seen.error = event.error
      if (open !== undefined) steps.push(open)
    } else if (name === 'interaction.completed') {
      last = event.interaction
      if (last.status !== 'failed') must(isDeepStrictEqual(last.steps, steps), 'other steps than those told')
    }
  }
  for (const step of steps) seeStep(seen, step)
  seen.finish = last?.status
  seen.usage = last?.usage
  return seen
}

type Client = {
  readonly whole: (answer: any) => ClientView
  readonly stream: (bytes: Uint8Array) => ClientView
  /** The next request of the conversation: the answer, and the results of the tools. */
  next(request: any, seen: ClientView, results: readonly string[], say?: string): any
}

export const clients: Readonly<Record<CallerId, Client>> = {
  chat: {
    whole: chatWhole,
    stream: chatStream,
    next: (request, seen, results, say) => ({
      ...request,
      messages: [
        ...request.messages,
        ...seen.turn,
        ...results.map((content, at) => ({ role: 'tool', tool_call_id: seen.tools[at]?.id, content })),
        ...(say === undefined ? [] : [{ role: 'user', content: say }]),
      ],
    }),
  },
  messages: {
    whole: messagesWhole,
    stream: messagesStream,
    next: (request, seen, results, say) => ({
      ...request,
      messages: [
        ...request.messages,
        ...seen.turn,
        {
          role: 'user',
          content: [
            ...results.map((content, at) => ({
              type: 'tool_result',
              tool_use_id: seen.tools[at]?.id,
              content,
            })),
            ...(say === undefined ? [] : [{ type: 'text', text: say }]),
          ],
        },
      ],
    }),
  },
  gemini: {
    whole: geminiWhole,
    stream: geminiStream,
    next: (request, seen, results, say) => ({
      ...request,
      contents: [
        ...request.contents,
        ...seen.turn,
        {
          role: 'user',
          parts: [
            ...results.map((output, at) => ({
              functionResponse: { id: seen.tools[at]?.id, name: seen.tools[at]?.name, response: { output } },
            })),
            ...(say === undefined ? [] : [{ text: say }]),
          ],
        },
      ],
    }),
  },
  responses: {
    whole: responsesWhole,
    stream: responsesStream,
    next: (request, seen, results, say) => ({
      ...request,
      input: [
        ...request.input,
        ...seen.turn,
        ...results.map((output, at) => ({
          type: 'function_call_output',
          call_id: seen.tools[at]?.id,
          output,
        })),
        ...(say === undefined ? [] : [{ role: 'user', content: say }]),
      ],
    }),
  },
  interactions: {
    whole: interactionsWhole,
    stream: interactionsStream,
    next: (request, seen, results, say) => ({
      ...request,
      input: [
        ...request.input,
        ...seen.turn,
        ...results.map((result, at) => ({
          type: 'function_result',
          call_id: seen.tools[at]?.id,
          name: seen.tools[at]?.name,
          result,
        })),
        ...(say === undefined ? [] : [{ type: 'user_input', content: [{ type: 'text', text: say }] }]),
      ],
    }),
  },
  cohere: {
    whole: cohereWhole,
    stream: cohereStream,
    next: (request, seen, results, say) => ({
      ...request,
      messages: [
        ...request.messages,
        ...seen.turn,
        ...results.map((data, at) => ({
          role: 'tool',
          tool_call_id: seen.tools[at]?.id,
          content: [{ type: 'document', document: { data } }],
        })),
        ...(say === undefined ? [] : [{ role: 'user', content: say }]),
      ],
    }),
  },
  ollama: {
    whole: ollamaWhole,
    stream: ollamaStream,
    next: (request, seen, results, say) => ({
      ...request,
      messages: [
        ...request.messages,
        ...seen.turn,
        ...results.map((content, at) => ({ role: 'tool', tool_name: seen.tools[at]?.name, content })),
        ...(say === undefined ? [] : [{ role: 'user', content: say }]),
      ],
    }),
  },
}

/** A first request of each dialect that says one thing. */
export const firstRequest = (dialect: CallerId, say: string): any =>
  ({
    chat: { model: 'a/b', messages: [{ role: 'user', content: say }] },
    messages: { model: 'a/b', max_tokens: 100, messages: [{ role: 'user', content: say }] },
    gemini: { contents: [{ role: 'user', parts: [{ text: say }] }] },
    responses: { model: 'a/b', input: [{ role: 'user', content: say }] },
    interactions: { model: 'a/b', input: [{ type: 'user_input', content: [{ type: 'text', text: say }] }] },
    cohere: { model: 'a/b', messages: [{ role: 'user', content: say }] },
    ollama: { model: 'a/b', messages: [{ role: 'user', content: say }] },
  })[dialect]

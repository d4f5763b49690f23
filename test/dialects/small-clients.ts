/** What strict clients of the small dialects make of an answer: they throw on what is out of place. */
import { argsOf, type ClientView, eventsIn, must, nothing } from './client-view.ts'

const seeCohere = (seen: ClientView, message: any): void => {
  for (const part of message.content ?? []) {
    must(part.type === 'text' || part.type === 'thinking', `a content ${part.type}`)
    if (part.type === 'text') seen.text += part.text
    else seen.thinking += part.thinking
  }
  for (const { start, end, text, sources, content_index } of message.citations ?? []) {
    const stretch = message.content[content_index]?.text?.slice(start, end)
    must(stretch === text, `a source of ${text} where ${stretch} stands`)
    const [{ type, document }] = sources
    must(type === 'document', `a source ${type}`)
    seen.cited.push({ url: document.url, title: document.title, said: text })
  }
  for (const { id, type, function: called } of message.tool_calls ?? []) {
    must(type === 'function' && id, `a call ${id}`)
    seen.tools.push({ id, name: called.name, args: argsOf(called.arguments) })
  }
  seen.turn.push(message)
}

export const cohereWhole = (answer: any): ClientView => {
  const seen = nothing()
  must(answer.id && answer.message.role === 'assistant', 'the message')
  seeCohere(seen, answer.message)
  seen.finish = answer.finish_reason
  seen.usage = answer.usage
  seen.ended = true
  return seen
}

export const cohereStream = (bytes: Uint8Array): ClientView => {
  const seen = nothing()
  let message: any
  let [blocks, calls, sources] = [0, 0, 0]
  let open: 'content' | 'tool-call' | 'citation' | undefined
  let over = false
  for (const { name, data } of eventsIn(bytes)) {
    if (data === '[DONE]') {
      must(over, '[DONE] before the end')
      seen.ended = seen.error === undefined
      continue
    }
    must(!data.includes('[DONE]'), 'a text that ends the stream')
    const event = JSON.parse(data)
    must(name === event.type && !over, `an event named ${name} of type ${event.type}`)
    const said = event.delta?.message
    const at = (which: typeof open, index: number) =>
      must(open === which && event.index === index, event.type)
    switch (event.type) {
      case 'message-start':
        must(message === undefined && event.id, 'a second start')
        message = { role: 'assistant' }
        break
      case 'content-start':
        at(undefined, blocks)
        open = 'content'
        message.content = [...(message.content ?? []), { ...said.content }]
        break
      case 'content-delta':
        at('content', blocks)
        for (const [member, text] of Object.entries(said.content)) {
          must(member in message.content.at(-1), `${member} in another content`)
          message.content.at(-1)[member] += text
        }
        break
      case 'content-end':
        at('content', blocks++)
        open = undefined
        break
      case 'tool-call-start':
        at(undefined, calls)
        open = 'tool-call'
        message.tool_calls = [...(message.tool_calls ?? []), structuredClone(said.tool_calls)]
        break
      case 'tool-call-delta':
        at('tool-call', calls)
        message.tool_calls.at(-1).function.arguments += said.tool_calls.function.arguments
        break
      case 'tool-call-end':
        at('tool-call', calls++)
        open = undefined
        break
      case 'citation-start':
        must(event.index === sources, `source ${event.index}`)
        message.citations = [...(message.citations ?? []), said.citations]
        break
      case 'citation-end':
        must(event.index === sources++, `source ${event.index}`)
        break
      default:
        must(event.type === 'message-end', event.type)
        over = true
        seen.finish = event.delta.finish_reason
        seen.usage = event.delta.usage
        if (event.delta.error !== undefined) seen.error = event.delta
        else must(open === undefined, `the end in a ${open}`)
    }
  }
  if (message !== undefined && seen.error === undefined) seeCohere(seen, message)
  else seen.text = (message?.content ?? []).map(({ text = '' }) => text).join('')
  return seen
}

const seeOllama = (seen: ClientView, message: any): void => {
  seen.text += message.content
  seen.thinking += message.thinking ?? ''
  for (const image of message.images ?? []) seen.images.push(`data:image/png;base64,${image}`)
  for (const { id, function: called } of message.tool_calls ?? []) {
    must(typeof called.arguments === 'object', `a call ${called.name}`)
    seen.tools.push({ id, name: called.name, args: called.arguments })
  }
}

export const ollamaWhole = (answer: any): ClientView => {
  const seen = nothing()
  must(answer.done === true && answer.message.role === 'assistant', 'the message')
  seeOllama(seen, answer.message)
  seen.turn.push(answer.message)
  seen.finish = answer.done_reason
  seen.usage = { prompt_eval_count: answer.prompt_eval_count, eval_count: answer.eval_count }
  seen.ended = true
  return seen
}

export const ollamaStream = (bytes: Uint8Array): ClientView => {
  const seen = nothing()
  const message: any = { role: 'assistant', content: '' }
  const text = new TextDecoder().decode(bytes)
  must(text === '' || text.endsWith('\n'), 'an unfinished line')
  for (const line of text.split('\n').slice(0, -1)) {
    must(!seen.ended && seen.error === undefined, 'something after the end')
    const one = JSON.parse(line)
    if (one.error !== undefined) {
      must(typeof one.error === 'string', 'the error')
      seen.error = one
      continue
    }
    seeOllama(seen, one.message)
    message.content += one.message.content
    if (one.message.thinking) message.thinking = (message.thinking ?? '') + one.message.thinking
    if (one.message.tool_calls)
      message.tool_calls = [...(message.tool_calls ?? []), ...one.message.tool_calls]
    if (one.done !== true) continue
    seen.ended = true
    seen.finish = one.done_reason
    seen.usage = { prompt_eval_count: one.prompt_eval_count, eval_count: one.eval_count }
  }
  seen.turn.push(message)
  return seen
}

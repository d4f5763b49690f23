/** A vendor's answers in the responses dialect, by its public reference: whole, and as events. */

type Item = { readonly type: string; readonly [member: string]: unknown }
type Shape = { readonly status?: string; readonly [member: string]: unknown }

export const responsesUsage10and5 = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
}

export const messageItem = (text: string, id = 'msg_1'): Item => ({
  id,
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})

export const reasoningItem = (summary: string, sealed: string, id = 'rs_1'): Item => ({
  id,
  type: 'reasoning',
  summary: summary === '' ? [] : [{ type: 'summary_text', text: summary }],
  encrypted_content: sealed,
})

export const callItem = (name: string, args: string, id = 'call_1'): Item => ({
  id: `fc_${id}`,
  type: 'function_call',
  status: 'completed',
  call_id: id,
  name,
  arguments: args,
})

/** The response object. */
export const response = (output: readonly Item[], more: Shape = {}) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1_795_000_000,
  status: 'completed',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  model: 'small-2026-01-01',
  output,
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: false,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  usage: responsesUsage10and5,
  user: null,
  metadata: {},
  ...more,
})

/** The events of a text in pieces. */
type Cut = (text: string) => readonly string[]

const inFives: Cut = (text) => {
  const letters = [...text]
  return Array.from({ length: Math.ceil(letters.length / 5) }, (_none, at) =>
    letters.slice(at * 5, (at + 1) * 5).join(''),
  )
}

type Say = (type: string, members: object) => string

/** The events between an item's first and its last. */
const inside = (item: any, at: object, say: Say, cut: Cut): readonly string[] => {
  const content = { ...at, content_index: 0 }
  switch (item.type) {
    case 'message': {
      const [part] = item.content
      if (part.type === 'refusal')
        return [
          say('response.content_part.added', { ...content, part: { type: 'refusal', refusal: '' } }),
          ...cut(part.refusal).map((delta) => say('response.refusal.delta', { ...content, delta })),
          say('response.refusal.done', { ...content, refusal: part.refusal }),
          say('response.content_part.done', { ...content, part }),
        ]
      return [
        say('response.content_part.added', { ...content, part: { ...part, text: '', annotations: [] } }),
        ...cut(part.text).map((delta) =>
          say('response.output_text.delta', { ...content, delta, logprobs: [], obfuscation: 'x7' }),
        ),
        ...part.annotations.map((annotation: object, annotation_index: number) =>
          say('response.output_text.annotation.added', { ...content, annotation_index, annotation }),
        ),
        say('response.output_text.done', { ...content, text: part.text, logprobs: [] }),
        say('response.content_part.done', { ...content, part }),
      ]
    }
    case 'reasoning':
      return item.summary.flatMap(({ text }: { text: string }, summary_index: number) => {
        const place = { ...at, summary_index }
        return [
          say('response.reasoning_summary_part.added', {
            ...place,
            part: { type: 'summary_text', text: '' },
          }),
          ...cut(text).map((delta) =>
            say('response.reasoning_summary_text.delta', { ...place, delta, obfuscation: 'q' }),
          ),
          say('response.reasoning_summary_text.done', { ...place, text }),
          say('response.reasoning_summary_part.done', { ...place, part: { type: 'summary_text', text } }),
        ]
      })
    case 'function_call':
      return [
        ...cut(item.arguments).map((delta) =>
          say('response.function_call_arguments.delta', { ...at, delta, obfuscation: 'ab' }),
        ),
        say('response.function_call_arguments.done', { ...at, arguments: item.arguments }),
      ]
    case 'custom_tool_call':
      return [
        ...cut(item.input).map((delta) => say('response.custom_tool_call_input.delta', { ...at, delta })),
        say('response.custom_tool_call_input.done', { ...at, input: item.input }),
      ]
    default:
      return []
  }
}

/** An item as its first event has it: named, but without its content. */
const begun = (item: any): object => ({
  ...item,
  ...(item.status === undefined ? {} : { status: 'in_progress' }),
  ...(item.content === undefined ? {} : { content: [] }),
  ...(item.summary === undefined ? {} : { summary: [] }),
  ...(item.arguments === undefined ? {} : { arguments: '' }),
  ...(item.input === undefined ? {} : { input: '' }),
})

/** The events of a response. */
export const responseEvents = (whole: ReturnType<typeof response>, cut: Cut = inFives): string[] => {
  let sequence = 0
  const say: Say = (type, members) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...members })}\n\n`
  const first = { ...whole, status: 'in_progress', output: [], usage: null, incomplete_details: null }
  return [
    say('response.created', { response: first }),
    say('response.in_progress', { response: first }),
    ...whole.output.flatMap((item, output_index) => [
      say('response.output_item.added', { output_index, item: begun(item) }),
      ...inside(item, { item_id: item.id, output_index }, say, cut),
      say('response.output_item.done', { output_index, item }),
    ]),
    say(`response.${whole.status}`, { response: whole }),
  ]
}

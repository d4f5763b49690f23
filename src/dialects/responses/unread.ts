/** Responses, members of a request that no other dialect is told. Source: OpenAI API reference, "Create a model response". */
import type { JsonObject } from '../../core/json-body.ts'
import { objectOf, objectsOf, textsOf } from '../json-members.ts'
import { known, unreadIn } from '../unread.ts'

const top = known(
  'model input instructions temperature top_p max_output_tokens stream tools tool_choice parallel_tool_calls text ' +
    // Told by what is in them.
    'reasoning user top_logprobs include store',
  { service_tier: ['auto', 'default'], truncation: ['disabled'], background: [false] },
)
const text = known('format')
const reasoning = known('effort summary')
const tool = known('type name description parameters strict format')
const item = known(
  'type role content id status call_id name arguments input output summary encrypted_content result output_format',
)
const part = known('type text image_url detail file_data file_url filename annotations logprobs refusal')

/** What answers have in them unasked. */
const INCLUDED = 'reasoning.encrypted_content'

/** Names of the members that are not read. */
export const unreadInResponses = (body: JsonObject): readonly string[] => {
  const items = objectsOf(body.input)
  const functions = objectsOf(body.tools).filter(({ type }) => type === 'function' || type === 'custom')
  return [
    ...unreadIn([body], top),
    ...unreadIn([objectOf(body.text)], text, 'text.'),
    ...unreadIn([objectOf(body.reasoning)], reasoning, 'reasoning.'),
    ...unreadIn(functions, tool, 'tools.'),
    ...unreadIn(items, item, 'input.'),
    ...unreadIn(
      items.flatMap(({ content, output }) => [...objectsOf(content), ...objectsOf(output)]),
      part,
      'content.',
    ),
    ...(textsOf(body.include).some((one) => one !== INCLUDED) ? ['include'] : []),
  ]
}

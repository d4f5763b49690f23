/** Chat completions, members of a request that no other dialect is told. Source: OpenAI API reference, "Create chat completion". */
import type { JsonObject } from '../../core/json-body.ts'
import { objectOf, objectsOf } from '../json-members.ts'
import { known, unreadIn } from '../unread.ts'

const top = known(
  'model messages stream stream_options temperature top_p top_k max_tokens max_completion_tokens n stop seed ' +
    'presence_penalty frequency_penalty logprobs top_logprobs user tools tool_choice parallel_tool_calls functions ' +
    'function_call response_format reasoning_effort reasoning modalities',
  { store: [false], service_tier: ['auto', 'default'] },
)
const streamOptions = known('include_usage')
const message = known(
  'role content name tool_calls tool_call_id function_call refusal audio images reasoning_content reasoning ' +
    'reasoning_details annotations',
)
const part = known('type text image_url input_audio file refusal thinking cache_control')
const tool = known('type function')
const declared = known('name description parameters strict')
const reasoning = known('effort max_tokens exclude enabled')

/** Names of the members that are not read. */
export const unreadInChat = (body: JsonObject): readonly string[] => {
  const messages = objectsOf(body.messages)
  const tools = objectsOf(body.tools)
  return [
    ...unreadIn([body], top),
    ...unreadIn([objectOf(body.stream_options)], streamOptions, 'stream_options.'),
    ...unreadIn(messages, message, 'messages.'),
    ...unreadIn(
      messages.flatMap(({ content }) => objectsOf(content)),
      part,
      'content.',
    ),
    ...unreadIn(
      tools.filter(({ type }) => type === 'function'),
      tool,
      'tools.',
    ),
    ...unreadIn(
      [...tools.map((one) => objectOf(one.function)), ...objectsOf(body.functions)],
      declared,
      'tools.',
    ),
    ...unreadIn([objectOf(body.reasoning)], reasoning, 'reasoning.'),
    ...(body.logprobs !== true && body.top_logprobs ? ['top_logprobs'] : []),
  ]
}

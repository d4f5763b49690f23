/** Messages, members of a request that no other dialect is told. Source: Anthropic API reference, "Create a Message". */
import type { JsonObject } from '../../core/json-body.ts'
import { objectOf, objectsOf } from '../json-members.ts'
import { known, unreadIn } from '../unread.ts'

const top = known(
  'model messages system max_tokens temperature top_p top_k stream stop_sequences metadata tools tool_choice thinking ' +
    // Betas are told with themselves.
    'output_config output_format betas anthropic_beta',
  { service_tier: ['auto'] },
)
const message = known('role content')
const block = known(
  'type text cache_control citations source title id name input tool_use_id content is_error thinking signature data ' +
    'tool_name tool',
)
const tool = known('type name description input_schema strict cache_control')
const metadata = known('user_id')
const thinking = known('type budget_tokens display')
const outputConfig = known('effort format')
const toolChoice = known('type name disable_parallel_tool_use')

/** Names of the members that are not read. */
export const unreadInMessages = (body: JsonObject): readonly string[] => {
  const messages = objectsOf(body.messages)
  const blocks = [...objectsOf(body.system), ...messages.flatMap(({ content }) => objectsOf(content))]
  const inner = blocks.flatMap(({ content }) => objectsOf(content))
  return [
    ...unreadIn([body], top),
    ...unreadIn(messages, message, 'messages.'),
    ...unreadIn([...blocks, ...inner], block, 'content.'),
    ...unreadIn(objectsOf(body.tools), tool, 'tools.'),
    ...unreadIn([objectOf(body.metadata)], metadata, 'metadata.'),
    ...unreadIn([objectOf(body.thinking)], thinking, 'thinking.'),
    ...unreadIn([objectOf(body.output_config)], outputConfig, 'output_config.'),
    ...unreadIn([objectOf(body.tool_choice)], toolChoice, 'tool_choice.'),
    ...blocks.flatMap(({ type }) =>
      type === 'tool_addition' || type === 'tool_removal' ? [String(type)] : [],
    ),
  ]
}

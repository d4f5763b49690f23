/**
 * Messages, the request: what a caller may send, what the meter needs from it, and what is ignored for vendors of other
 * dialects. Source of the format: Anthropic API reference, "Create a Message".
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import type { Findings } from '../request/findings.ts'
import { callId, signature } from '../request/foreign.ts'
import { objectOf, objectsOf, textOf } from '../request/json-members.ts'
import {
  ignored,
  modelName,
  needed,
  notOffered,
  object,
  type RequestOf,
  request,
} from '../request/request.ts'
import {
  any,
  flag,
  integer,
  list,
  meant,
  number,
  objects,
  orUnset,
  type Shape,
  text,
  textOr,
  tokenBound,
  Wrong,
  word,
} from '../request/shape.ts'
import { isPriced } from './betas.ts'
import { countHosted, isHosted, usesAreWrong } from './hosted-tools.ts'

/** Tools that the caller runs itself. Of those that the vendor runs, only some have a known cost: hosted-tools.ts. */
const OWN_TOOL = /^(?:custom|bash_\d+|text_editor_\d+|computer_\d+|memory_\d+)$/
/** Families of such tools, by prefix. */
const OWN_TOOLSET = /^(?:computer|browser)_toolset_\d+$/

const notNamed = ({ name }: JsonObject): Wrong | undefined =>
  typeof name === 'string' && name !== ''
    ? undefined
    : new Wrong((at) => `'${at}' must be an object with a non-empty string 'name'.`, '.name')

const wrongUses = (tool: JsonObject): Wrong | undefined =>
  usesAreWrong(tool)
    ? new Wrong((at) => `'${at}.max_uses' must be an integer of at least 1.`, '.max_uses')
    : undefined

const wrongTool = (tool: JsonObject): Wrong | undefined => {
  const { type } = tool
  if (typeof type !== 'string' || OWN_TOOL.test(type)) return notNamed(tool)
  if (isHosted(type)) return notNamed(tool) ?? wrongUses(tool)
  const what = () =>
    `The tool '${type.slice(0, 60)}' is not sold here: the vendor runs it, and what it costs is not known beforehand.`
  return OWN_TOOLSET.test(type) ? undefined : new Wrong(what, '.type')
}

/** The most tokens that the vendor adds around tools; its own tools also bring a description. */
const TOOLS_TEMPLATE = 1_000
/** No family has this many tools. */
const TOOLSET_MAX = 50
const madeBy = (type: string): number => (type === 'custom' ? 0 : OWN_TOOLSET.test(type) ? TOOLSET_MAX : 1)

const tool = object(
  {
    type: meant('string'),
    name: meant('string'),
    description: meant('string'),
    input_schema: meant('object'),
    strict: meant('boolean'),
    cache_control: meant('object'),
  },
  {
    place: 'tools.',
    rule: wrongTool,
    seen: (tool, found) => {
      const { type } = tool
      if (typeof type === 'string') countHosted(tool, found)
      found.template = (found.template || TOOLS_TEMPLATE) + TOOLS_TEMPLATE * madeBy(textOf(type) ?? 'custom')
    },
  },
)

const ofText = new Set<Json | undefined>([
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'search_result',
  'tool_removal',
  'compaction',
])

const countBlock = (block: JsonObject, found: Findings): void => {
  const { type, content } = block
  if (ofText.has(type)) return
  if (type === 'tool_reference' || type === 'tool_addition') found.showsTools = true
  else if (type === 'tool_result') countBlocks(content, found)
  else if (type === 'image' || type === 'document') countMedia(type, objectOf(block.source), found)
  else found.unknown()
}

const countBlocks = (content: Json | undefined, found: Findings): void => {
  for (const block of objectsOf(content)) countBlock(block, found)
}

const countMedia = (type: 'image' | 'document', source: JsonObject, found: Findings): void => {
  const data = textOf(source.data)
  if (type === 'document' && source.type === 'content') countBlocks(source.content, found)
  else if (type === 'document' && source.type === 'text') return
  else if (source.type === 'base64' && data !== undefined)
    found.inline(textOf(source.media_type) ?? '', data.length)
  else found.address(textOf(source.url) ?? '', type === 'image')
}

/** Bytes of the tools that blocks refer to: each reference repeats its tool's text. */
export const shownAgain = ({ messages, tools }: JsonObject): number => {
  const names = objectsOf(messages).flatMap(({ content }) => objectsOf(content).flatMap(toolsNamed))
  if (names.length === 0) return 0
  const bytes = new Map(
    objectsOf(tools).map((tool) => [textOf(tool.name), Buffer.byteLength(JSON.stringify(tool))]),
  )
  return names.reduce((sum, name) => sum + (bytes.get(name) ?? 0), 0)
}

const toolsNamed = (block: JsonObject): readonly (string | undefined)[] => {
  if (block.type === 'tool_result') return objectsOf(block.content).flatMap(toolsNamed)
  if (block.type === 'tool_reference') return [textOf(block.tool_name)]
  return block.type === 'tool_addition' ? [textOf(objectOf(block.tool).name)] : []
}

const members = {
  type: meant('string'),
  text: meant('string'),
  cache_control: meant('object'),
  citations: any,
  source: any,
  title: meant('string'),
  id: meant('string'),
  name: meant('string'),
  input: meant('object'),
  tool_use_id: meant('string'),
  content: any,
  is_error: meant('boolean'),
  thinking: meant('string'),
  signature: meant('string'),
  data: meant('string'),
  encrypted_content: meant('string'),
  tool_changes: meant('array'),
  tool_name: meant('string'),
  tool: meant('object'),
}
const content = objects(object(members, { loose: true, place: 'content.' }))
const systemBlock = object({ ...members, content }, { named: 'type', place: 'content.', seen: countBlock })

/** Blocks of a conversation may contain what another vendor made; this vendor would refuse them unchanged. */
const block = object(
  {
    ...members,
    content,
    citations: objects(object({ encrypted_index: signature })),
    id: callId,
    tool_use_id: callId,
    signature,
    data: signature,
  },
  {
    named: 'type',
    place: 'content.',
    seen: (it, found) => {
      // A thought of a vendor that signs none.
      if (it.type === 'thinking' && !it.signature) found.foreign = true
      countBlock(it, found)
    },
  },
)

const ROLE = (name: string) => `'${name}' must be 'user' or 'assistant'.`
const CONTENT = (name: string) => `'${name}' must be a string or a list of blocks.`

const message = object(
  {
    role: needed(word(['user', 'assistant', 'system'], ROLE), ROLE),
    content: textOr(list(block, { say: CONTENT })),
  },
  {
    say: (name) => `'${name}' must be an object with 'role' and 'content'.`,
    place: 'messages.',
    rule: ({ role, content, output_config }) =>
      (content ?? null) !== null ||
      // A member that only changes how the answer is made.
      (role === 'system' && isObject(output_config))
        ? undefined
        : new Wrong(CONTENT).under('content'),
  },
)

/** Members that make the vendor bill more than the listed price, or make somebody else bill. */
export const unpriced = [
  'container',
  'mcp_servers',
  'fallbacks',
  'fallback_credit_token',
  'inference_geo',
  'speed',
  'billing_policy',
  'user_profile_id',
  'workspace_id',
] as const

/** A member that is present but asks for nothing: an empty list of servers, the ordinary speed. */
const asksNothing = (value: Json): boolean =>
  value === 'standard' || (Array.isArray(value) && value.length === 0)

/** Edits of the context that may cost what nobody held money for are refused. */
const contextManagement: Shape<Json> = {
  check: (value) => {
    const edits = objectsOf(objectOf(value).edits)
    const at = edits.findIndex((edit) => !isPriced(edit))
    const what = () =>
      `'${String(edits[at]?.type).slice(0, 60)}' is not sold here: the vendor bills it beside the tokens of the answer.`
    return at < 0 ? undefined : new Wrong(what).under(`edits[${at}].type`)
  },
  schema: { type: 'object' },
}

/**
 * The client's tool runner first asks for a thread, and sends the whole conversation if the answer says that there are
 * none.
 */
const thread: Shape<Json> = {
  check: () =>
    new Wrong(() => "Nothing is stored here: send the whole conversation in 'messages', without 'thread'."),
}

const MESSAGES = () => "'messages' is required: a list of messages."

const described = {
  model: modelName,
  max_tokens: tokenBound,
  temperature: number(0, 1),
  top_p: orUnset(number(0, 1)),
  top_k: orUnset(integer(0)),
  stream: flag,
  stop_sequences: list(text),
  metadata: object({ user_id: meant('string') }, { place: 'metadata.' }),
  tools: list(tool),
  tool_choice: object(
    { type: meant('string'), name: meant('string'), disable_parallel_tool_use: meant('boolean') },
    { named: 'type', place: 'tool_choice.' },
  ),
  thinking: object(
    { type: meant('string'), budget_tokens: meant('integer'), display: meant('string') },
    { named: 'type', place: 'thinking.' },
  ),
  output_config: object({ effort: meant('string'), format: meant('object') }, { place: 'output_config.' }),
  output_format: any,
  // Betas are reported separately: see betas.ts.
  betas: meant('array'),
  anthropic_beta: any,
  service_tier: ignored(word(['auto', 'standard_only']), 'auto'),
  ...notOffered(
    unpriced,
    asksNothing,
    (name) => `'${name}' is not sold here: it changes the vendor's bill beyond the listed price.`,
  ),
  context_management: ignored(contextManagement),
  compaction: object({
    type: needed(word(['summarize']), () => "'compaction.type' must be 'summarize'."),
    instructions: text,
  }),
  thread: ignored(thread),
  system: textOr(list(systemBlock)),
  messages: needed(
    list(message, { say: MESSAGES, empty: () => "'messages' must hold at least one message." }),
    MESSAGES,
  ),
}

/** A request for a token count of its input. */
export const countRequest = request(described)

export const messagesRequest = request({
  ...described,
  max_tokens: needed(tokenBound, () => "'max_tokens' is required: an integer of at least 1."),
})

export type MessagesRequest = RequestOf<typeof countRequest>

/**
 * What of a conversation a vendor's dialect cannot express, although the answer means the same without it. Three words
 * describe what does not reach the other side. `ignored`: our reader of the caller's dialect has no place for a member.
 * `unsupported`: one side's dialect cannot express a thing. `notCarried`: what one call or answer lost for either
 * reason; the caller gets its names. What would change the meaning is refused instead (`refuseUnsupported`).
 */
import type { Conversation, Part, Turn } from '../neutral.ts'

/** Whether any part passes the test, in a turn or in a tool result. */
const somePart = ({ turns }: Conversation, isSuch: (part: Part) => boolean): boolean =>
  turns.some(({ parts }) =>
    parts.some((part) => isSuch(part) || (part.type === 'tool_result' && part.parts.some(isSuch))),
  )

/** Whether a penalty is requested: 0 is every vendor's default. */
const isPenalty = (value: number | undefined): boolean => value !== undefined && value !== 0

/** What a conversation may contain or request and some vendors do not support, under the name that the caller reads. */
const things = {
  top_k: ({ topK }) => topK !== undefined,
  seed: ({ seed }) => seed !== undefined,
  presence_penalty: ({ presencePenalty }) => isPenalty(presencePenalty),
  frequency_penalty: ({ frequencyPenalty }) => isPenalty(frequencyPenalty),
  logprobs: ({ logprobs }) => logprobs !== undefined,
  stop: ({ stop }) => stop.length > 0,
  user: ({ user }) => user !== undefined,
  parallel_tool_calls: ({ parallelTools }) => parallelTools === false,
  'temperature above 1': ({ temperature }) => temperature !== undefined && temperature > 1,
  strict: ({ tools }) => tools.some(({ strict }) => strict === true),
  /** The name of a speaker. */
  name: ({ turns }) => turns.some(({ name }) => name !== undefined),
  detail: (it) =>
    somePart(it, (part) => part.type === 'image' && part.detail !== undefined && part.detail !== 'auto'),
  filename: (it) => somePart(it, (part) => part.type === 'document' && part.name !== undefined),
  is_error: (it) => somePart(it, (part) => part.type === 'tool_result' && part.failed === true),
  cache_control: (it) =>
    it.tools.some(({ cache }) => cache !== undefined) ||
    somePart(it, (part) => 'cache' in part && part.cache !== undefined),
  /** An earlier answer contained images, which the vendor takes only from the user. */
  'images of an answer': ({ turns }) =>
    turns.some(({ role, parts }) => role === 'assistant' && parts.some(({ type }) => type === 'image')),
} as const satisfies Readonly<Record<string, (it: Conversation) => boolean>>

export type Unsupported = keyof typeof things

/** Names of the things in a conversation that a vendor does not support. */
export const unsupportedIn = (
  it: Conversation,
  unsupported: readonly Unsupported[],
): readonly Unsupported[] => unsupported.filter((name) => things[name](it))

const isThought = (part: Part): boolean =>
  part.type === 'thinking' || (part.type === 'tool_call' && part.signature !== undefined)

/** `thinking` when there are thoughts or signatures that the vendor did not make itself. */
export const thoughtsIn = (turns: readonly Turn[], isOwn: (part: Part) => boolean): readonly string[] =>
  turns.some(({ parts }) => parts.some((part) => isThought(part) && !isOwn(part))) ? ['thinking'] : []

/** What of a conversation a vendor's dialect has no place for and does not change the meaning: named, so that the caller is told. */
import type { Conversation, Part, Turn } from './neutral.ts'

/** Particulars of parts and turns. */
const particulars = {
  cache_control: (part: Part) => 'cache' in part && part.cache !== undefined,
  detail: (part: Part) => part.type === 'image' && part.detail !== undefined && part.detail !== 'auto',
  filename: (part: Part) => part.type === 'document' && part.name !== undefined,
  is_error: (part: Part) => part.type === 'tool_result' && part.failed === true,
} as const

type Particular = keyof typeof particulars

/** Those of the named particulars that the conversation has. */
export const particularsIn = (it: Conversation, ...names: readonly Particular[]): readonly string[] => {
  const parts = it.turns.flatMap((turn) => turn.parts.flatMap(withResults))
  const found = names.filter((name) => parts.some(particulars[name]))
  const cached = names.includes('cache_control') && it.tools.some(({ cache }) => cache !== undefined)
  return cached && !found.includes('cache_control') ? [...found, 'cache_control'] : found
}

const withResults = (part: Part): readonly Part[] =>
  part.type === 'tool_result' ? [part, ...part.parts] : [part]

/** `name` when someone who speaks is named. */
export const namesIn = (it: Conversation): readonly string[] =>
  it.turns.some(({ name }) => name !== undefined) ? ['name'] : []

const isThought = (part: Part): boolean =>
  part.type === 'thinking' || (part.type === 'tool_call' && part.signature !== undefined)

/** `thinking` when there are thoughts or signatures that the vendor cannot know for its own. */
export const thoughtsIn = (turns: readonly Turn[], isOwn: (part: Part) => boolean): readonly string[] =>
  turns.some(({ parts }) => parts.some((part) => isThought(part) && !isOwn(part))) ? ['thinking'] : []

/** `images` when an earlier answer held pictures, which the vendor takes from the user alone. */
export const ownImagesIn = (turns: readonly Turn[]): readonly string[] =>
  turns.some(({ role, parts }) => role === 'assistant' && parts.some(({ type }) => type === 'image'))
    ? ['images of an answer']
    : []

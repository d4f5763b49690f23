/** A choice of allowed tools: the others are not sent, so no vendor can call a tool that the caller does not allow. */
import type { Refusal } from '../../core/refusal.ts'
import type { Conversation } from '../neutral.ts'
import { refuseUnsupported } from './vendor-call.ts'

/**
 * The conversation with only the allowed tools. A Refusal when none of them exists, and when the tool that the model must
 * use is not carried: the answer would be another one.
 */
export const withAllowedTools = (it: Conversation): Conversation | Refusal => {
  const choice = it.toolChoice
  const isLost = it.ignored.includes('tool_choice')
  const noToolLeft = choice?.type === 'required' && it.tools.length === 0 && it.ignored.some(isTool)
  if (isLost || noToolLeft) return refuseUnsupported('tool_choice', 'this choice of a tool')
  if (choice === undefined || choice.type === 'named' || choice.only === undefined) return it
  const { only, type } = choice
  const allowed = new Set(only)
  const tools = it.tools.filter(({ name }) => allowed.has(name))
  return tools.length === 0
    ? refuseUnsupported('tool_choice', 'a choice among tools of which none is sent')
    : { ...it, tools, toolChoice: { type } }
}

const isTool = (name: string): boolean => name.startsWith('tools ')

/** A choice among some of the tools: the others are not sent, so that no vendor can call what the caller does not allow. */
import type { Refusal } from '../core/refusal.ts'
import type { Conversation } from './neutral.ts'
import { refuseUnsupported } from './vendor-call.ts'

/** The conversation with the allowed tools alone; a Refusal when none of those named is there. */
export const withAllowedTools = (it: Conversation): Conversation | Refusal => {
  const choice = it.toolChoice
  if (choice === undefined || choice.type === 'named' || choice.only === undefined) return it
  const { only, type } = choice
  const allowed = new Set(only)
  const tools = it.tools.filter(({ name }) => allowed.has(name))
  return tools.length === 0
    ? refuseUnsupported('tool_choice', 'a choice among tools of which none is sent')
    : { ...it, tools, toolChoice: { type } }
}

/** A choice of allowed tools: the others are not sent, so no vendor can call a tool that the caller does not allow. */
import type { Refusal } from '../core/refusal.ts'
import type { Conversation } from './neutral.ts'
import { refuseUnsupported } from './vendor-call.ts'

/** The conversation with only the allowed tools; a Refusal when none of them exists. */
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

/** The dialect in which a vendor is asked, where its models are asked in more than one. */
import type { Call } from '../core/call.ts'
import type { AskStyle, Model } from '../core/model.ts'
import type { Speaker, VendorDialectId } from './dialect.ts'
import { objectsOf } from './json-members.ts'

/**
 * The caller's own where the model is asked in it and it can carry the call; else one that can, and chat completions where
 * both can.
 */
export const upstreamDialect = (
  call: Call,
  { asked }: Pick<Model, 'asked'>,
  { speaks }: Pick<Speaker, 'speaks'>,
): VendorDialectId => {
  if (asked === undefined) return speaks ?? 'chat'
  if (asked.in !== 'both') return asked.in
  return call.dialect === 'responses' || !chatCarries(call, asked) ? 'responses' : 'chat'
}

/** Whether chat completions take the call. Of another dialect's effort nothing is known yet: its tools decide. */
const chatCarries = ({ dialect, body }: Call, { chatTools }: AskStyle): boolean => {
  if (chatTools === undefined) return true
  const { tools, functions, reasoning_effort: effort } = body.outline
  if (objectsOf(tools).length + objectsOf(functions).length === 0) return true
  if (dialect !== 'chat') return false
  return chatTools === 'effort_none' ? effort === 'none' : (effort ?? 'none') === 'none'
}

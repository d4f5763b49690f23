/** The dialect in which to ask a vendor whose models speak more than one. */
import type { Call } from '../core/call.ts'
import type { Model, RequestStyle } from '../core/model.ts'
import type { VendorDialectId, VendorTraits } from './dialect.ts'
import { objectsOf } from './request/json-members.ts'

/**
 * The caller's own dialect, if the model speaks it and it can carry the call; else one that can carry it, and chat
 * completions if both can.
 */
export const upstreamDialect = (
  call: Call,
  { requestStyle }: Pick<Model, 'requestStyle'>,
  { speaks }: Pick<VendorTraits, 'speaks'>,
): VendorDialectId => {
  if (requestStyle === undefined) return speaks ?? 'chat'
  if (requestStyle.in === 'both_of_google') return call.dialect === 'interactions' ? 'interactions' : 'gemini'
  if (requestStyle.in !== 'both') return requestStyle.in
  return call.dialect === 'responses' || !chatCarries(call, requestStyle) ? 'responses' : 'chat'
}

/**
 * Whether chat completions take the call. For a call in another dialect the effort is not known yet, so its tools
 * decide.
 */
const chatCarries = ({ dialect, body }: Call, { chatTools }: RequestStyle): boolean => {
  if (chatTools === undefined) return true
  const { tools, functions, reasoning_effort: effort } = body.outline
  if (objectsOf(tools).length + objectsOf(functions).length === 0) return true
  if (dialect !== 'chat') return false
  return chatTools === 'effort_none' ? effort === 'none' : (effort ?? 'none') === 'none'
}

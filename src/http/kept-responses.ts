/** Kept responses: reading one, and deleting one. */
import { isObject, parseJson } from '../core/json-body.ts'
import { refuse } from '../core/refusal.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { placeOf } from '../tenancy/key.ts'
import { anyCallerOf, callerOf } from './caller.ts'
import { json } from './reply.ts'
import type { HttpCall } from './route.ts'

/** A response that its key asked to keep, as it was when it ended. */
export const getKeptResponse = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const key = await callerOf(gateway, call)
  const kept = await gateway.store.responses.keptResponse(placeOf(key), call.params.id ?? '')
  const body = kept === undefined ? undefined : parseJson(kept.body)
  if (kept === undefined || !isObject(body)) throw notKept()
  return json({ ...body, output: kept.output.flatMap((item) => parseJson(item) ?? []) })
}

/** Deletes a response; a disabled key may do it too. */
export const forgetKeptResponse = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const key = await anyCallerOf(gateway, call)
  const id = call.params.id ?? ''
  if (!(await gateway.store.responses.forgetResponse(placeOf(key), id))) throw notKept()
  return json({ id, object: 'response', deleted: true })
}

const notKept = () =>
  refuse(
    'not_found',
    'There is no response of this id: nobody asked to keep it, it is not yours, it was deleted, or it has expired (RESPONSES_STORE).',
  )

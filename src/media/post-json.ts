/** The request that most shapes make: a JSON body to a path of the vendor's. */
import type { JsonObject } from '../core/json-body.ts'
import type { Outgoing } from './shape.ts'

export const postJson = (path: string, json: JsonObject): Outgoing => ({
  method: 'POST',
  path,
  body: { json },
})

/** Shapes of a request that may contain a mark of another vendor; signatures.ts says how it gets there. */
import type { Json } from '../../core/json-body.ts'
import { hasSignature, isForeign } from '../translate/signatures.ts'
import type { Shape } from './shape.ts'

/** The id of a call, which may carry another vendor's signature. */
export const callId: Shape<Json> = {
  check: (value, found) => {
    if (!found.foreign && hasSignature(value)) found.foreign = true
    return undefined
  },
  schema: { type: 'string' },
}

/** A signature that another vendor may have made. */
export const signature: Shape<Json> = {
  check: (value, found) => {
    if (!found.foreign && isForeign(value)) found.foreign = true
    return undefined
  },
  schema: { type: 'string' },
}

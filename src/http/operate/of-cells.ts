/** What cells ask of each other; they show that they have the same secret. */
import { CELLS_PROOF } from '../../cells/ask-cell.ts'
import { isOurs } from '../../core/keyed-hash.ts'
import { refuse } from '../../core/refusal.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { HttpCall } from '../route/route.ts'

/** Throws a 401 unless a cell asks. Compares hashes in constant time. */
export const checkIsCell = ({ hash }: Pick<Gateway, 'hash'>, { request: { headers } }: HttpCall): void => {
  const given = /^bearer +(\S+)$/i.exec(headers.get('authorization')?.trim() ?? '')?.[1]
  if (given === undefined || !isOurs(hash, CELLS_PROOF, given))
    throw refuse('invalid_api_key', 'Only other cells with the same TURNPIKE_SECRET may ask this.', {
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    })
}

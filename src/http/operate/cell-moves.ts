/** GET /api/cells/moves: where organisations went, for the other cells, which have the same secret. */
import { isOurs } from '../../core/keyed-hash.ts'
import { refuse } from '../../core/refusal.ts'
import { CELLS_PROOF } from '../../gateway/watch-cells.ts'
import { json } from '../answer/reply.ts'
import type { Handler } from '../route/route.ts'

/** Compares hashes in constant time. */
export const getCellMoves: Handler = async ({ hash, store }, { request: { headers } }) => {
  const given = /^bearer +(\S+)$/i.exec(headers.get('authorization')?.trim() ?? '')?.[1]
  if (given === undefined || !isOurs(hash, CELLS_PROOF, given))
    throw refuse('invalid_api_key', 'Only other cells with the same TURNPIKE_SECRET may ask this.', {
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    })
  return json({ moves: await store.cells.lastMoves() })
}

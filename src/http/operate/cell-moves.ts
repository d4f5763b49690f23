/** GET /api/cells/moves: where organisations went, for the other cells, which have the same secret. */
import { json } from '../answer/reply.ts'
import type { Handler } from '../route/route.ts'
import { checkIsCell } from './of-cells.ts'

export const getCellMoves: Handler = async (gateway, call) => {
  checkIsCell(gateway, call)
  return json({ moves: await gateway.store.cells.lastMoves() })
}

/** Responses, the members that tell whether an answer is kept. Source of the format: OpenAI API reference, "The response object". */
import type { JsonObject } from '../../core/json-body.ts'
import type { Kept } from '../told.ts'

/** Nothing where the answer is not kept: it says so by itself. */
export const keptMembers = (kept: Kept | undefined): JsonObject =>
  kept === undefined ? {} : { store: true, previous_response_id: kept.previous ?? null }

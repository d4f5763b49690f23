/**
 * The length of a stored sound or film. Its bytes are a stranger's: 650 of them made the library that reads them take
 * gigabytes. So they are read by a process of the pool, which has bounds of its own; the server only hands it the parts.
 */
import type { Pool } from '../transport/local-media/pool.ts'
import { LENGTH } from '../transport/local-media/work.ts'
import type { Part } from '../vendors/local/product.ts'

type Stored = { readonly bytes: number; readonly part: Part }

/** Whole milliseconds, rounded up; undefined if it cannot be determined. */
export const lengthOf = async (pool: Pool, { bytes, part }: Stored): Promise<number | undefined> => {
  const made = await pool.run({ product: LENGTH, inputs: { bytes } }, undefined, part).catch(() => undefined)
  if (made === undefined || !('json' in made)) return undefined
  return typeof made.json.ms === 'number' ? made.json.ms : undefined
}

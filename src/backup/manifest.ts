/** What a backup says of itself. It is written last: where it is not, there is no whole backup. */
import { z } from 'zod'

/** The file that makes a backup whole. */
export const MANIFEST = 'manifest.json'
/** The ledger in a backup. */
export const LEDGER = 'ledger.db'

const count = z.int().min(0)

const shape = z.object({
  format: z.literal(1),
  /** The moment of the ledger that is kept. */
  made_at: z.iso.datetime(),
  made_by: z.string(),
  engine: z.literal('sqlite'),
  schema: count,
  ledger: z.object({ bytes: count, sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  /** Rows of each table. */
  rows: z.record(z.string(), count),
  audit: z.object({ laws: count, broken: z.array(z.string()) }),
  /** Results beside the ledger, whose sums are in it; `gone` ended while they were copied. */
  assets: z.union([
    z.object({ files: count, bytes: count, gone: count }),
    z.object({ elsewhere: z.string() }),
  ]),
  /** Where the secret is under which keys are hashed; of one that is not here, what proves it to be the same. */
  secret: z.union([z.literal('in the ledger'), z.object({ proof: z.string().optional() })]),
})

export type Manifest = z.infer<typeof shape>

/** Undefined for what is no manifest. */
export const readManifest = (text: string): Manifest | undefined => {
  try {
    return shape.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

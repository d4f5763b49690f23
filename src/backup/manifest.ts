/** A backup's description of itself. It is written last: without it, there is no complete backup. */
import { z } from 'zod'

/** The file that makes a backup complete. */
export const MANIFEST = 'manifest.json'
/** The ledger in a backup. */
export const LEDGER = 'ledger.db'

const count = z.int().min(0)

const shape = z.object({
  format: z.literal(1),
  /** The moment of the ledger that the backup shows. */
  made_at: z.iso.datetime(),
  made_by: z.string(),
  engine: z.literal('sqlite'),
  schema: count,
  ledger: z.object({ bytes: count, sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  /** Rows of each table. */
  rows: z.record(z.string(), count),
  audit: z.object({ laws: count, broken: z.array(z.string()) }),
  /** Results beside the ledger, which has their checksums; `gone` of them ended while they were copied. */
  assets: z.union([
    z.object({ files: count, bytes: count, gone: count }),
    z.object({ elsewhere: z.string() }),
  ]),
  /** Where the secret is that hashes the keys; if it is not in the backup, a hash that identifies it. */
  secret: z.union([z.literal('in the ledger'), z.object({ proof: z.string().optional() })]),
})

export type Manifest = z.infer<typeof shape>

/** Undefined if it is not a manifest. */
export const readManifest = (text: string): Manifest | undefined => {
  try {
    return shape.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** Keys of receipts, and the log of receipts, in the API reference. */
import { z } from 'zod'

export const keySet = z
  .object({
    keys: z.array(
      z.object({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        x: z.string(),
        kid: z.string(),
        use: z.literal('sig'),
        alg: z.literal('EdDSA'),
      }),
    ),
  })
  .meta({ id: 'KeySet' })

const hash = z.string().describe('SHA-256, in hex')
const proof = z.array(hash).describe('From the leaf upwards; RFC 9162')

export const logHead = z
  .object({
    size: z.int().describe('How many entries the log has'),
    root: hash,
    signed_at: z.string(),
    promise_seconds: z.int().describe('How long after a call was charged it is in the log at the latest'),
    head: z.string().describe('A JWT of type log-head+jwt; docs/receipt-log.md'),
  })
  .meta({ id: 'LogHead' })

export const logProof = z
  .object({ index: z.int(), size: z.int(), salt: z.string().describe('With what its entry begins'), proof })
  .meta({ id: 'LogProof' })

export const logConsistency = z.object({ from: z.int(), to: z.int(), proof }).meta({ id: 'LogConsistency' })

export const logTile = z.object({ level: z.int(), n: z.int(), hashes: z.array(hash) }).meta({ id: 'LogTile' })

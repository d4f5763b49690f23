/** Keys of receipts, and the log of receipts, in the API reference. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'

export const keySet = namedObject('KeySet', {
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

const hash = z.string().describe('SHA-256, in hex')
const proof = z.array(hash).describe('From the leaf upwards; RFC 9162')

export const logHead = namedObject('LogHead', {
  size: z.int().describe('How many entries the log has'),
  root: hash,
  signed_at: z.string(),
  promise_seconds: z.int().describe('How long after a call was charged it is in the log at the latest'),
  head: z.string().describe('A JWT of type log-head+jwt; docs/receipt-log.md'),
})

export const logProof = namedObject('LogProof', {
  index: z.int(),
  size: z.int(),
  salt: z.string().describe('With what its entry begins'),
  proof,
})

export const logConsistency = namedObject('LogConsistency', { from: z.int(), to: z.int(), proof })

export const logTile = namedObject('LogTile', { level: z.int(), n: z.int(), hashes: z.array(hash) })

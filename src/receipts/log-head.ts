/** Signed ends of the log of receipts, and what they promise. */
import type { KeyObject } from 'node:crypto'
import type { Instant } from '../core/time.ts'
import { readHead, signHead } from './heads.ts'
import type { Hash } from './merkle.ts'
import type { SigningKey } from './token.ts'

/**
 * How long after a call was charged its receipt is in the log at the latest, while a server runs: some six minutes as a rule, and
 * after the end of its day where a clock was set back.
 */
export const LOG_PROMISE_SECONDS = 26 * 60 * 60

export type LogHead = {
  readonly size: number
  readonly root: Hash
  /** Calls that were charged before this are not in the log. */
  readonly began: Instant
  /** When it was signed. */
  readonly at: Instant
}

const secondOf = (at: Instant): number => Math.floor(at / 1000)

export const signLogHead = (signer: SigningKey, { size, root, began, at }: LogHead): string =>
  signHead(signer, 'log-head+jwt', {
    iat: secondOf(at),
    promise: LOG_PROMISE_SECONDS,
    root: Buffer.from(root).toString('hex'),
    since: secondOf(began),
    size,
  })

/** The end that a head states, if one of the keys has signed it. */
export const readLogHead = (token: string, keys: ReadonlyMap<string, KeyObject>): LogHead | undefined => {
  const { size, root, since, iat } = readHead(token, 'log-head+jwt', keys) ?? {}
  if (typeof root !== 'string' || !Number.isSafeInteger(size)) return undefined
  return {
    size: Number(size),
    root: Buffer.from(root, 'hex'),
    began: Number(since) * 1000,
    at: Number(iat) * 1000,
  }
}

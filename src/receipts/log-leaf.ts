/**
 * Entries of the log of receipts: `<salt>\n<text>`. The text of a call is the claims of its receipt without `iss`, which the
 * operator may change; that of a day is what an account was charged in it. Without the salt, whoever knows nearly all of an
 * entry could guess the rest and find its hash: a tenant is not told what its reseller is charged.
 */
import { decimalFromNano, type Nano } from '../core/money.ts'
import type { Day } from '../core/time.ts'
import type { AccountId, ChargedCall } from '../ledger/types.ts'
import { claimsOf } from './claims.ts'
import { type Hash, leafHash } from './merkle.ts'

/** What the log says of an account's day: sums of the postings of calls that were made in it. */
export type DaySum = {
  readonly account: AccountId
  readonly calls: number
  readonly charged: Nano
  readonly refunded: Nano
}

/** The text of a receipt's claims, in the order in which they are signed. */
export const receiptText = ({ iss: _, ...claims }: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(claims)

export const callText = (call: ChargedCall): string => receiptText(claimsOf('', call))

export const dayText = (day: Day, { account, calls, charged, refunded }: DaySum): string =>
  JSON.stringify({
    account,
    calls,
    charged: decimalFromNano(charged),
    day,
    refunded: decimalFromNano(refunded),
  })

export const dayName = (day: Day, account: AccountId): string => `${day} ${account}`

/** The salt of an entry, by the log's own secret and the entry's name: the id of a call, or a day with its account. */
export const saltOf = (secret: string, name: string): string =>
  new Bun.CryptoHasher('sha256', secret).update(name).digest('hex').slice(0, 32)

export const entryHash = (salt: string, text: string): Hash => leafHash(`${salt}\n${text}`)

/** Under which short digest an entry's name is found: 2^64 names are needed for two to be the same. */
export const NAME_BYTES = 16
export const nameDigest = (name: string): Uint8Array =>
  new Bun.CryptoHasher('sha256').update(name).digest().subarray(0, NAME_BYTES)

/** A text that lets its holder claim the change of a payment: its id, and a proof under the server's secret. */
import { isOurs, type KeyedHash } from '../../core/keyed-hash.ts'

const LENGTH = 32

/** The claim of a payment's change. */
const claimOf = (hash: KeyedHash<string>, paymentId: string): string =>
  `${Buffer.from(paymentId).toString('base64url')}.${shortened(hash)(provenBy(paymentId))}`

/** The payment whose change a claim is for; undefined if the claim is not ours. */
const paymentOf = (hash: KeyedHash<string>, claim: string): string | undefined => {
  const [, name, proof] = /^([A-Za-z0-9_-]{1,400})\.([0-9a-f]{32})$/.exec(claim) ?? []
  if (name === undefined || proof === undefined) return undefined
  const paymentId = Buffer.from(name, 'base64url').toString('utf8')
  return isOurs(shortened(hash), provenBy(paymentId), proof) ? paymentId : undefined
}

const provenBy = (paymentId: string): string => `x402 change ${paymentId}`

const shortened = (hash: KeyedHash<string>): KeyedHash<string> =>
  Object.assign(
    (text: string) => hash(text).slice(0, LENGTH),
    hash.before === undefined ? {} : { before: shortened(hash.before) },
  )

/** Makes claims of change under this secret, and reads them. */
export const claimsOf = (hash: KeyedHash<string>) => ({
  claimFor: (paymentId: string): string => claimOf(hash, paymentId),
  paymentOfClaim: (claim: string): string | undefined => paymentOf(hash, claim),
})

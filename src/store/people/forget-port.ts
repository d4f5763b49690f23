/** The store's port for removing what is known of people and customers. Postings, ids and counters stay. */
import type { KeyId, WalletId } from '../../tenancy/key.ts'
import type { Actor } from './event-port.ts'

/** How many rows of each kind were removed, or lost what they said. */
export type Forgotten = Readonly<Record<string, number>>

export type ForgetStore = {
  /**
   * Removes a person with sessions, passwords, passkeys, codes, links and memberships; events keep only the person's id.
   * `last_owner` if an organisation would be left without an owner.
   */
  forgetPerson(personId: string, by: Actor): Promise<Forgotten | 'unknown' | 'last_owner'>
  /** The keys of the wallet's organisation that are not deleted, those below others too. */
  keysToEnd(walletId: WalletId): Promise<readonly KeyId[]>
  /**
   * Removes what the organisation of a wallet said of itself and stored here, and its people who are in no other one. Its
   * keys must be deleted; `keys_live` if one is not.
   */
  forgetCustomer(walletId: WalletId, by: Actor): Promise<Forgotten | 'unknown' | 'keys_live'>
}

/**
 * The accounts of estimates: what vendors bill organisations for their own keys, by the list price. Caps count it, and nobody
 * pays it here.
 */
import type { WalletId } from '../tenancy/key.ts'
import type { AccountId, houseAccounts } from './types.ts'

/** The house account that estimates are posted to. */
export const VENDORS = 'vendors' satisfies (typeof houseAccounts)[number]

/** The account beside a wallet that estimates draw on. It has no balance that could bind: only counters bind what is leased. */
export const estimateAccountOf = (wallet: WalletId): AccountId => `${VENDORS}:${wallet}`
export const isEstimateAccount = (account: AccountId): boolean => account.startsWith(`${VENDORS}:`)

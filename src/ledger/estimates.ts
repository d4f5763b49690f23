/**
 * The accounts of estimates: what vendors bill organisations for their own keys, by the list price. Caps count it, and nobody
 * pays it here.
 */
import type { WalletId } from '../tenancy/key.ts'
import type { AccountId, CallId, houseAccounts } from './types.ts'

/** The house account that estimates are posted to. */
export const VENDORS = 'vendors' satisfies (typeof houseAccounts)[number]

/** The account beside a wallet that estimates draw on. It has no balance that could bind: only counters bind what is leased. */
export const estimateAccountOf = (wallet: WalletId): AccountId => `${VENDORS}:${wallet}`
/** The name of an estimate for one attempt at a call. It tells an estimate from a call where nothing else is read. */
export const estimateOf = (callId: CallId, attempt: string): CallId => `${VENDORS}:${callId}:${attempt}`
export const isEstimateAccount = (account: AccountId): boolean => account.startsWith(`${VENDORS}:`)

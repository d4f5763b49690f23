/** The first start on an empty database: the operator's wallet with test credit, and one key, shown once. */
import type { Store } from '../store/port.ts'
import type { Config } from './config.ts'
import { type Hash, newToken, prefixOf } from './parts.ts'

const OPERATOR_ORG = 'operator'
export const OPERATOR_WALLET = 'wal_operator'
const FIRST_KEY = 'key_first'

/** The new key's token, or undefined when the operator's account is already there. Several processes make it once. */
export const firstStart = async (store: Store, config: Config, hash: Hash): Promise<string | undefined> => {
  if ((await store.key(FIRST_KEY)) !== undefined) return undefined
  await store.createWallet({ id: OPERATOR_WALLET, orgId: OPERATOR_ORG, name: 'operator' })
  if (config.firstFund > 0n)
    await store.post({
      kind: 'grant',
      ref: 'first-start',
      debit: 'promo',
      credit: OPERATOR_WALLET,
      amount: config.firstFund,
      note: 'test credit of the first start',
    })
  const token = newToken()
  try {
    await store.createKey({
      id: FIRST_KEY,
      hash: hash(token),
      orgId: OPERATOR_ORG,
      walletId: OPERATOR_WALLET,
      label: 'first key',
      prefix: prefixOf(token),
      limits: {},
    })
  } catch (error) {
    // Another process was first: its key is the one that is shown.
    if ((await store.key(FIRST_KEY)) !== undefined) return undefined
    throw error
  }
  return token
}

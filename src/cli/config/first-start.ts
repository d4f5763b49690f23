/** The first start on an empty database: the operator's wallet with test credit, and one key, shown once. */

import { newToken, prefixOf } from '../../gateway/parts/new-token.ts'
import { ReplayConflict } from '../../store/faults.ts'
import { theHouse } from '../../store/people/event-port.ts'
import { OPERATOR_ORG } from '../../store/people/machine-port.ts'
import type { Store } from '../../store/port.ts'
import type { Config } from './config.ts'
import type { KeyHash } from './parts.ts'

export const OPERATOR_WALLET = 'wal_operator'
const FIRST_KEY = 'key_first'

/** Creates the operator's account if it does not exist. Several processes may do so at once. */
export const openAccount = async (store: Pick<Store, 'keys' | 'ledger' | 'wallets'>, config: Config) => {
  if ((await store.keys.key(FIRST_KEY)) !== undefined) return
  await store.wallets.createWallet({ id: OPERATOR_WALLET, orgId: OPERATOR_ORG, name: 'operator' }, theHouse)
  if (config.firstFund === 0n) return
  try {
    await store.ledger.post({
      kind: 'grant',
      ref: 'first-start',
      debit: 'promo',
      credit: OPERATOR_WALLET,
      amount: config.firstFund,
      note: 'test credit of the first start',
    })
  } catch (error) {
    // An earlier start had other settings, whose credit stays.
    if (!(error instanceof ReplayConflict)) throw error
  }
}

/**
 * Makes the first key of an account that has none, for a server that listens and can show it. Returns the token, or
 * undefined when another process stored its key first: only the stored key may be shown.
 */
export const firstKey = async (
  store: Pick<Store, 'keys'>,
  hash: KeyHash,
  cell: string | undefined,
): Promise<string | undefined> => {
  if ((await store.keys.key(FIRST_KEY)) !== undefined) return undefined
  const token = newToken(cell)
  try {
    await store.keys.createKey(
      {
        id: FIRST_KEY,
        hash: hash(token),
        hashedBy: hash.id,
        orgId: OPERATOR_ORG,
        walletId: OPERATOR_WALLET,
        label: 'first key',
        prefix: prefixOf(token),
        limits: {},
      },
      theHouse,
    )
  } catch (error) {
    // Another process was faster at the same moment.
    if ((await store.keys.key(FIRST_KEY)) === undefined) throw error
  }
  return (await store.keys.keyByHash(hash(token)))?.id === FIRST_KEY ? token : undefined
}

/** What a call takes of a lease, from which path of money, and how long it is ready to wait for it. */
import type { Nano } from '../core/money.ts'
import type { AccountId } from '../ledger/words.ts'
import type { Key, KeyId } from '../tenancy/key.ts'
import type { Lease } from './lease.ts'

/** Whose money: the key, the sub-wallet that the call names, and what pays when it is not the key's wallet. */
export type Path = {
  readonly keyId: KeyId
  readonly sub: string | undefined
  readonly account: AccountId | undefined
}

export type Room = Path & {
  readonly amount: Nano
  readonly useful: Nano
  /** For a call that was admitted before, what it holds: it goes on while the process drains, and need not wait for itself. */
  readonly goesOn?: Nano
  /** Whether it waits a little for money that other open calls hold. */
  readonly waits: boolean
  /** Ends that wait: the caller has gone. */
  readonly signal?: AbortSignal | undefined
}

/** What this process has leased for one path. */
export type Purse = {
  readonly path: Path
  /** How often a limit changed: what was granted before the last time is not handed out. */
  changes: number
  /** Calls that ask the ledger, or wait before they ask again. */
  waiting: number
  /** How often in a row the ledger counted room as the lease's that this process does not have. */
  astray: number
  lease: Lease | undefined
  asking: Promise<unknown> | undefined
}

export const newPurse = (path: Path): Purse => ({
  path,
  changes: 0,
  waiting: 0,
  astray: 0,
  lease: undefined,
  asking: undefined,
})

/** Whose purse it is: a sub-wallet that a key is bound to is not named. */
export const pathOf = (key: Key, sub: string | undefined, account: AccountId | undefined): Path => ({
  keyId: key.id,
  sub: sub === key.subWallet ? undefined : sub,
  account,
})

export const nameOf = ({ keyId, sub, account }: Path): string =>
  sub === undefined && account === undefined ? keyId : JSON.stringify([keyId, sub ?? null, account ?? null])

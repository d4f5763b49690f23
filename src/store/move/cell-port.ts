/** The store's port for what cells know of each other's organisations. */
import type { Nano } from '../../core/money.ts'

/** Where an organisation came by its last move that a cell knows. */
export type LastMove = {
  readonly organisation: string
  /** The name of the cell; undefined for the one that says so. */
  readonly cell?: string | undefined
  /** Which move of the organisation it was, counted over all cells. */
  readonly number: number
  /** The id of the move. */
  readonly move: string
}

/** The same, as it is told by name. */
export type Whereabouts = LastMove & { readonly cell: string }

/** What a cell has, of one moment. */
export type CellSums = {
  /** Those that are here. */
  readonly organisations: number
  /** What is in wallets, and in payments that were not used up. */
  readonly balance: Nano
  /** What open calls hold. */
  readonly held: Nano
  /** What credit lines owe. */
  readonly owed: Nano
  /** Charged here less refunds since midnight UTC; what was charged elsewhere and came along is not in it. */
  readonly today: Nano
  /** On the accounts between this cell and others. */
  readonly between: Nano
  /** What moves have taken out of these books, by their ids, if they are not known to have arrived. */
  readonly left: ReadonlyMap<string, Nano>
  /** The moves that arrived. */
  readonly arrived: ReadonlySet<string>
}

export type CellStore = {
  /** The last moves that were completed, of each organisation that came to this cell or left it. */
  lastMoves(): Promise<readonly LastMove[]>
  sums(): Promise<CellSums>
  /**
   * What this ledger has not heard of, because it was restored from a backup of before: organisations that it has and that
   * are elsewhere, and those that are to be here and that are not, or not as they were.
   */
  unheardOf(
    own: string,
    told: readonly Whereabouts[],
  ): Promise<{ readonly elsewhere: readonly Whereabouts[]; readonly missing: readonly Whereabouts[] }>
  /**
   * Does again what this ledger has forgotten of a move: the organisation leaves it. From the first step on none of its keys
   * makes a call here. It `waits` while calls are open: ask again. `moving`: a command does it.
   */
  leaveAgain(
    it: Whereabouts,
  ): Promise<{ readonly outcome: 'left' | 'moving' } | { readonly outcome: 'waits'; readonly why: string }>
}

/** Keys that an organisation has at vendors itself, as every process knows them with the rules of its wallets. */

/** Of one vendor: none of its calls by the organisation goes out with a key of the house, unless it falls back. */
type OwnKeysAt = {
  /** The ids of those that are on, in the order in which they are asked. */
  readonly keys: readonly string[]
  /** Where they fail, the house's keys are asked, at the house's price. */
  readonly fallBack?: true
}

/** By vendor. */
export type OwnKeys = Readonly<Record<string, OwnKeysAt>>

/** Whether a call of the organisation may go to that vendor with a key of the house. */
export const houseMayAsk = (own: OwnKeys | undefined, vendor: string): boolean =>
  own === undefined || own[vendor] === undefined || own[vendor].fallBack === true

export type SealedKey = { readonly id: string; readonly vendor: string; readonly sealed: string }

/** The key under which an organisation's keys are sealed, as a master wrapped it. */
export type DataKey = { readonly orgId: string; readonly master: string; readonly wrapped: string }

/** Where data keys are kept. */
export type DataKeys = {
  dataKey(orgId: string): Promise<DataKey | undefined>
  /** Stores the first one of an organisation; the first writer wins, and all get the same. */
  firstDataKey(key: DataKey): Promise<DataKey>
  /** Those that another master wraps, so many at most. */
  wrappedOtherwise(
    master: string,
    most: number,
  ): Promise<{ readonly count: number; readonly keys: readonly DataKey[] }>
  /** Writes the same key in another wrapping, if it still has the one before. */
  rewrap(before: DataKey, after: DataKey): Promise<void>
}

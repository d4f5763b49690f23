/**
 * Divides something that a process has, places or bytes, among those who ask: together they take at most all of it, and
 * each at most a share.
 */

type ShareTaken =
  | 'taken'
  /** Nobody can have that much now. */
  | 'none left'
  /** This owner already has as much as one may have. */
  | 'own share used'

export type Shares = {
  take(owner: string, amount: number): ShareTaken
  giveBack(owner: string, amount: number): void
  readonly used: () => number
}

/** `percent`: how much of `most` one owner may have. */
export const newShares = (most: number, percent: number): Shares => {
  const ownMost = Math.max(1, Math.floor((most * percent) / 100))
  const owners = new Map<string, number>()
  let used = 0
  return {
    take: (owner, amount) => {
      if (used + amount > most) return 'none left'
      const own = (owners.get(owner) ?? 0) + amount
      if (own > ownMost) return 'own share used'
      used += amount
      owners.set(owner, own)
      return 'taken'
    },
    giveBack: (owner, amount) => {
      used -= amount
      const own = (owners.get(owner) ?? 0) - amount
      if (own > 0) owners.set(owner, own)
      else owners.delete(owner)
    },
    used: () => used,
  }
}

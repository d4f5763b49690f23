/** What the store throws. */

/** A replay under the same (kind, ref) with other content. */
export class ReplayConflict extends Error {}

/** A posting that would take more out of a wallet than is free in it. */
export class Overdrawn extends Error {}

/** A posting after which a wallet would hold more than any wallet can: the amount was a mistake. */
export class TooLarge extends Error {}

/** The database could not be asked, or did not answer: the effect is unknown. */
export class StoreFault extends Error {}

/** A change that was asked for only while something had a version, which it no longer has; nothing was changed. */
export class ChangedSince extends Error {}

/** Something of an organisation that is in another cell, or on its way there: nothing was changed here. */
export class Elsewhere extends StoreFault {
  /** As its row says it. */
  readonly cell: string

  constructor(what: string, cell: string) {
    super(`${what} is not here: ${cell}`)
    this.cell = cell
  }
}

/** Throws Elsewhere for the row of an account or a key whose organisation is not here. */
export const mustBeHere = ({ cell }: Readonly<Record<string, unknown>>, id: string): void => {
  if (typeof cell === 'string') throw new Elsewhere(id, cell)
}

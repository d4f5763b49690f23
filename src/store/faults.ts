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

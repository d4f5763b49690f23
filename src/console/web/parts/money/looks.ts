/** How often a page asks whether a checkout is paid: for as long as it can be paid, and less often after the first minutes. */

const SOON_MS = 1_000
const SOON_LOOKS = 180
const LATER_MS = 30_000
/** Stripe's page of a checkout can be paid for a day, which began before the first look. */
const LATER_LOOKS = 86_400_000 / LATER_MS

/** Whether so many looks took longer than a checkout can be paid. */
export const isOver = (looks: number): boolean => looks >= SOON_LOOKS + LATER_LOOKS

/** The pause before the next look; false for none. */
export const nextLookMs = (looks: number, paid: boolean): number | false =>
  paid || isOver(looks) ? false : looks < SOON_LOOKS ? SOON_MS : LATER_MS

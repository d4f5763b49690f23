/** The states of an automatic top-up, and what changes them. */

/**
 * due: to be requested from Stripe, perhaps again. paid: Stripe said so, but its event has not come yet. credited: its
 * event came. declined, stopped: nothing was charged, as far as is known. unknown: nobody knows.
 */
export const topUpStates = ['due', 'paid', 'credited', 'declined', 'stopped', 'unknown'] as const
type TopUpState = (typeof topUpStates)[number]

/**
 * Stripe answered that it is `paid` or `declined`; it was requested too often without an answer (`lost`); its owner
 * changed the rule or the payment method (`stop`); the event of the payment came, with the money (`credit`).
 */
export const topUpEvents = ['paid', 'declined', 'lost', 'stop', 'credit'] as const
export type TopUpEvent = (typeof topUpEvents)[number]

/**
 * The transitions. An event that is not listed is refused and changes nothing. An answer does not reopen a payment that
 * was given up or declined; if it was paid after all, its event credits it.
 */
const transitions: Readonly<Record<TopUpState, Readonly<Partial<Record<TopUpEvent, TopUpState>>>>> = {
  due: { paid: 'paid', declined: 'declined', lost: 'unknown', stop: 'stopped', credit: 'credited' },
  paid: { paid: 'paid', declined: 'declined', lost: 'unknown', credit: 'credited' },
  stopped: { paid: 'paid', declined: 'declined', lost: 'unknown', credit: 'credited' },
  declined: { declined: 'declined', lost: 'unknown', credit: 'credited' },
  unknown: { declined: 'declined', lost: 'unknown', credit: 'credited' },
  credited: { credit: 'credited' },
}

/** The state after an event; undefined when it is refused. */
export const topUpAfter = (state: TopUpState, event: TopUpEvent): TopUpState | undefined =>
  transitions[state][event]

/** The states that an event changes, as a list for SQL. */
export const statesBefore = (event: TopUpEvent): string =>
  listed((state) => topUpAfter(state, event) !== undefined)

const listed = (which: (state: TopUpState) => boolean): string =>
  topUpStates
    .filter(which)
    .map((state) => `'${state}'`)
    .join(', ')

/** Whether it is still to be paid or credited: a wallet has one such payment at a time. */
export const isOpen = (state: TopUpState): boolean => state === 'due' || state === 'paid'

/** The open states, as a list for SQL. */
export const openStates = listed(isOpen)

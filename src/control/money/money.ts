/** Acts that move an organisation's money: paid in, given, paid back, and let be owed. */

import { z } from 'zod'
import { amount, line, namedObject } from '../../core/body.ts'
import { AMOUNT_FORM, decimalFromNano } from '../../core/money.ts'
import { invalid, refuse } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import { awaitLeases } from '../../payment/await-leases.ts'
import { ReplayConflict, TooLarge } from '../../store/faults.ts'
import { type Acting, act } from '../act.ts'
import { payer, walletIn, walletNamed } from '../org-of.ts'
import { showOrganisation, withCredit } from '../organisations.ts'
import { count } from '../read.ts'
import { creditLine, lineShown } from './invoices.ts'

const wrongAmount = `must be above 0 and ${AMOUNT_FORM}`

const moves = {
  ...payer,
  amount_usd: amount(wrongAmount).refine((nano) => nano > 0n, wrongAmount),
  ref: line(1, 200, 'must have 1 to 200 characters').describe(
    'Your reference of the payment: nothing is done twice under the same one',
  ),
}

const moved = namedObject('MoneyMoved', {
  ...withCredit,
  ref: z.string(),
  outcome: z.enum(['posted', 'replayed']).describe('`replayed`: it was done before, and nothing changed'),
})

/** The refusal for what the ledger throws. */
const inWords = (fault: unknown, ref: string, what: string): unknown => {
  if (fault instanceof ReplayConflict)
    return refuse(
      'idempotency_key_reused',
      `the reference ${ref} was used for another ${what}; nothing changed`,
    )
  return fault instanceof TooLarge
    ? invalid('amount_usd', "'amount_usd' is more than a wallet can hold; nothing changed.")
    : fault
}

type Paid = {
  readonly kind: 'topup' | 'grant'
  readonly debit: 'cash' | 'promo'
  /** Before the caller's reference, so that what is paid and what is given do not take each other's. */
  readonly refs: string
  readonly what: string
}

/** Posts money into a wallet, once for each reference. */
const paidIn = async (
  acting: Acting,
  { kind, debit, refs, what }: Paid,
  { amount_usd: amount, ref: given, note, ...of }: z.output<z.ZodObject<typeof moves>> & { note?: string },
) => {
  const { control, who } = acting
  const ref = storable(given)
  const { id: walletId, orgId, balance } = await walletNamed(acting, of)
  const said = note === undefined ? undefined : storable(note)
  const event = {
    actor: who.actor,
    orgId,
    what,
    subject: walletId,
    before: { balance_usd: decimalFromNano(balance) },
    after: { amount_usd: decimalFromNano(amount), note: said ?? ref },
  }
  const transfer = { kind, ref: `${refs}:${ref}`, debit, credit: walletId, amount } as const
  const outcome = await control.store.ledger
    .post({ ...transfer, ...(said === undefined ? {} : { note: said }) }, event)
    .catch((fault: unknown) => {
      throw inWords(fault, ref, 'payment')
    })
  if (outcome === 'replayed') acting.unchanged?.()
  return { ...(await showOrganisation(acting, walletId)), ref, outcome }
}

export const walletFund = act({
  name: 'wallet.fund',
  summary: 'Adds money to a wallet, that its owner has paid in another way; once for each `ref`.',
  changes: ['accounts'],
  input: moves,
  shows: moved,
  does: (acting, input) =>
    paidIn(acting, { kind: 'topup', debit: 'cash', refs: 'operator', what: 'wallet.funded' }, input),
})

export const walletCredit = act({
  name: 'wallet.credit',
  summary: 'Gives credit to a wallet, at the cost of the house; once for each `ref`.',
  changes: ['credit'],
  input: { ...moves, note: line(1, 200, 'must say what it is for') },
  shows: moved,
  does: (acting, input) =>
    paidIn(acting, { kind: 'grant', debit: 'promo', refs: 'console', what: 'wallet.credited' }, input),
})

export const walletWithdraw = act({
  name: 'wallet.withdraw',
  summary:
    'Takes money out of a wallet, for a payment back to its owner; never what open calls hold. Once for each `ref`.',
  changes: ['accounts'],
  input: moves,
  shows: moved,
  does: async (acting, { amount_usd: wanted, ref: given, ...of }) => {
    const { control, who } = acting
    const ref = storable(given)
    const walletId = await walletIn(acting, of)
    const withdrawal = { walletId, amount: wanted, ref }
    const outcome = await awaitLeases(control.clock, () =>
      control.store.funding.withdraw(withdrawal, who.actor),
    ).catch((fault: unknown) => {
      throw inWords(fault, ref, 'withdrawal')
    })
    const after = await showOrganisation(acting, walletId)
    if (outcome === 'replayed') acting.unchanged?.()
    if (outcome === 'posted' || outcome === 'replayed') return { ...after, ref, outcome }
    throw outcome === 'leased'
      ? refuse('balance_held', `servers hold the money of ${walletId} for calls; nothing changed, try again`)
      : refuse(
          'insufficient_balance',
          `${walletId} has ${decimalFromNano(after.available_usd)} USD beside what open calls hold; nothing changed`,
          { members: { limit: 'wallet' } },
        )
  },
})

const DAYS_MAX = 365
const DAYS_USUAL = 14

export const creditGrant = act({
  name: 'credit.grant',
  summary: 'Lets the keys of a wallet use up to an amount and pay later; 0 withdraws that.',
  changes: ['credit'],
  input: {
    ...payer,
    limit_usd: amount(`must be ${AMOUNT_FORM}`).describe('The most that may be owed'),
    net_days: count(0, DAYS_MAX).describe(
      `Days from an invoice until it is past due; as before if absent, at first ${DAYS_USUAL}`,
    ),
  },
  shows: creditLine,
  does: async (acting, { limit_usd: limit, net_days: days, ...of }) => {
    const { credit } = acting.control.store
    const walletId = await walletIn(acting, of)
    const netDays = days ?? (await credit.creditLine(walletId))?.netDays ?? DAYS_USUAL
    const line = await credit.grantCredit({ walletId, limit, netDays }, acting.who.actor)
    return lineShown(line)
  },
})

/** What Stripe's events mean: money moves only if the payment is ours, paid, and in whole cents of USD. */
import { expect, test } from 'bun:test'
import type Stripe from 'stripe'
import { creditAccountOf } from '../ledger/types.ts'
import { bringsPayment, payingAccount, paymentMode } from './funding.ts'
import { CHECKOUT, meaningOf } from './stripe-events.ts'

const meaning = (type: string, object: object) => meaningOf({ type, data: { object } } as Stripe.Event)
const ours = { metadata: { [CHECKOUT]: 'chk_1' } }
const session = {
  ...ours,
  payment_status: 'paid',
  payment_intent: 'pi_1',
  amount_total: 500,
  currency: 'usd',
}
const CENTS_5 = 50_000_000n

test('a session that is paid is a credit of its whole amount', () => {
  const credit = { does: 'credit', checkoutId: 'chk_1', payment: 'pi_1', amount: 5_000_000_000n }
  expect(meaning('checkout.session.completed', session)).toEqual(credit as never)
  const whole = { ...session, payment_intent: { id: 'pi_1' } }
  expect(meaning('checkout.session.async_payment_succeeded', whole)).toEqual(credit as never)
})

test.each<[string, object]>([
  ['of somebody else', { metadata: {} }],
  ['that is not paid yet', { payment_status: 'unpaid' }],
  ['without a payment', { payment_intent: null }],
  ['in euros', { currency: 'eur' }],
  ['of nothing', { amount_total: 0 }],
  ['of half a cent', { amount_total: 0.5 }],
  ['of more cents than are counted', { amount_total: 2 ** 53 }],
])('a session %s moves nothing', (_what, change) => {
  expect(meaning('checkout.session.completed', { ...session, ...change }).does).toBe('nothing')
})

test('a payment saves its method only where its payer agreed to it', () => {
  const intent = {
    ...ours,
    id: 'pi_2',
    amount_received: 5,
    currency: 'usd',
    customer: 'cus_1',
    payment_method: 'pm_1',
    created: 1_795_000_000,
  }
  expect(meaning('payment_intent.succeeded', intent)).toEqual({
    does: 'credit',
    checkoutId: 'chk_1',
    payment: 'pi_2',
    amount: CENTS_5,
  })
  expect(meaning('payment_intent.succeeded', { ...intent, setup_future_usage: 'off_session' })).toMatchObject(
    {
      saved: { customer: 'cus_1', method: 'pm_1', at: 1_795_000_000_000 },
    },
  )
})

test.each([
  ['authentication_required', 'authentication_required'],
  ['expired_card', 'expired_card'],
  ['insufficient_funds', 'card_declined'],
  [undefined, 'card_declined'],
])('a failure with the code %s means %s', (code, why) => {
  const intent = { ...ours, last_payment_error: code === undefined ? null : { code } }
  expect(meaning('payment_intent.payment_failed', intent)).toMatchObject({ does: 'fail', why })
})

const refund = { id: 're_1', payment_intent: 'pi_1', amount: 5, currency: 'usd' }
test.each([
  ['succeeded', CENTS_5],
  ['pending', CENTS_5],
  ['failed', 0n],
  ['canceled', 0n],
])('of a refund that is %s, %p is outstanding', (status, outstanding) => {
  expect(meaning('refund.updated', { ...refund, status })).toEqual({
    does: 'take',
    id: 're_1',
    payment: 'pi_1',
    outstanding,
  })
})

const dispute = { id: 'dp_1', payment_intent: 'pi_1', amount: 5, currency: 'usd', status: 'needs_response' }
const back = (amount: number) => ({
  balance_transactions: [
    { amount: -5, currency: 'usd' },
    { amount, currency: 'usd' },
  ],
})
test.each<[string, string, object, bigint]>([
  ['that is open', 'created', {}, CENTS_5],
  ['that was won', 'closed', { status: 'won' }, 0n],
  ['that was lost', 'closed', { status: 'lost' }, CENTS_5],
  ['that was lost, with a part given back', 'closed', { status: 'lost', ...back(2) }, 30_000_000n],
  ['whose money came back', 'funds_reinstated', {}, 0n],
  ['whose money came back in part', 'funds_reinstated', back(2), 30_000_000n],
  ['whose money came back after it was lost', 'funds_reinstated', { status: 'lost' }, CENTS_5],
])('of a dispute %s, the rest is outstanding', (_what, kind, change, outstanding) => {
  expect(meaning(`charge.dispute.${kind}`, { ...dispute, ...change })).toMatchObject({
    does: 'take',
    id: 'dp_1',
    outstanding,
  })
})

test('an inquiry, and a kind that is not known, move nothing', () => {
  expect(meaning('charge.dispute.created', { ...dispute, status: 'warning_needs_response' }).does).toBe(
    'nothing',
  )
  expect(meaning('customer.created', ours).does).toBe('nothing')
})

test('the mode of payment is what is asked for, or what the payment that is brought says', () => {
  const none = { v1: undefined, v2: undefined }
  expect(paymentMode(undefined, none)).toBe('wallet')
  expect(paymentMode(undefined, { ...none, v2: 'x' })).toBe('x402')
  expect(paymentMode('wallet', { ...none, v1: 'x' })).toBe('wallet')
  expect(paymentMode('Wallet', none)).toMatchObject({ code: 'invalid_parameter' })
  expect([bringsPayment(undefined), bringsPayment(none), bringsPayment({ ...none, v1: '' })]).toEqual([
    false,
    false,
    true,
  ])
  const key = { walletId: 'w' } as Parameters<typeof payingAccount>[1]
  expect(payingAccount('wallet', key)).toBeUndefined()
  expect(payingAccount('mpp', key)).toBe(creditAccountOf('w'))
})

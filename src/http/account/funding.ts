/** What Stripe and payers who come back from it ask: events that say what was paid, and the state of a checkout. */
import { written } from '../../control/face.ts'
import { noStripe, stateOf } from '../../control/money/checkouts.ts'
import { must, refuse } from '../../core/refusal.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { json } from '../answer/reply.ts'
import { readBody } from '../request/read-body.ts'
import type { HttpCall } from '../route/route.ts'

const EVENT_BYTES_MAX = 512 * 1024

/**
 * The checkout's id is its secret: whoever has it may see whether it is paid, including a browser that returns from
 * Stripe.
 */
export const getCheckout = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  if (gateway.payments.stripe === undefined) throw noStripe()
  const checkout = await gateway.store.funding.checkout(call.params.id ?? '')
  if (checkout === undefined) throw refuse('not_found', 'There is no such checkout.')
  return json(written(stateOf(checkout), 'number'))
}

/** Stripe repeats an event until it gets a 200, so we answer 200 to events that are not for us, too. */
export const stripeWebhook = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const { stripe } = gateway.payments
  if (stripe === undefined) throw noStripe()
  const raw = await readBody(gateway, call, EVENT_BYTES_MAX)
  let taken = false
  try {
    const outcome = must(await stripe.receive(raw, call.request.headers.get('stripe-signature')))
    taken = true
    return json({ received: true, outcome })
  } finally {
    gateway.watch.meters?.stripeEvent(taken)
  }
}

/**
 * Stripe in virtual time, as payers of the method `stripe` and processes meet it: it gives its first answer under a key again
 * for a day, a fault too; requests and answers are lost, late or refused; a payment may be under way, or wait for its holder.
 */
import type Stripe from 'stripe'
import { silentLog } from '../../src/core/log.ts'
import type { Nano } from '../../src/core/money.ts'
import { DAY_MS, HOUR_MS } from '../../src/core/time.ts'
import { CENT } from '../../src/ledger/invoice.ts'
import { challengesIn } from '../../src/payment/mpp/challenge.ts'
import { type CardRail, openCardRail } from '../../src/payment/stripe-tokens.ts'
import { UNIT, x402Options } from './process.ts'
import type { SimulatedChain } from './rail.ts'
import { EPOCH, type World } from './world.ts'

type Status = 'succeeded' | 'processing' | 'requires_action' | 'requires_payment_method' | 'canceled'

type Intent = {
  readonly id: string
  readonly token: string
  readonly cents: bigint
  readonly key: string
  status: Status
}

type First = { readonly at: number; readonly intent?: Intent; readonly error?: Error }

/** A challenge, as its payer answers it. */
export type CardPledge = {
  /** Of the payment. */
  readonly id: string
  readonly nonce: string
  readonly units: bigint
  readonly header: string
  /** The same challenge answered with another token. */
  readonly other: () => string
}

export type Cards = {
  /** Signs nothing: a wallet grants a token for the challenge of a quote. Undefined where it has none. */
  pledge(challenges: string | undefined): CardPledge | undefined
  /** Cents that the house has. */
  received(): bigint
  /** What was charged of a challenge; a challenge that was charged twice breaks the law. */
  charged(nonce: string): { readonly cents: bigint; readonly header: string } | undefined
  calm(): void
  railOf(alive: () => boolean): CardRail
}

const PROFILE = 'profile_simulated'
const ANSWER_WAIT_MS = 400

const failing = (type: string, statusCode: number, code?: string): Error =>
  Object.assign(new Error(type), { type, statusCode, code })
const unheard = () => failing('StripeConnectionError', 0)

const INTENT = (intent: Intent) => ({ id: intent.id, status: intent.status }) as Stripe.PaymentIntent

export const createCards = (
  world: World,
  { hit, fail }: { readonly hit: (what: string) => void; readonly fail: (law: string) => void },
): Cards => {
  const { random, pick } = world.draws('stripe')
  const wallets = world.draws('wallets with cards')
  const intents: Intent[] = []
  const firsts = new Map<string, First>()
  const running = new Set<string>()
  /** By the token: the challenge that it was granted for, and the header that carries it. */
  const granted = new Map<string, { readonly nonce: string; readonly header: string }>()
  let calm = false
  let serial = 0
  const chance = (odds: number) => !calm && random() < odds

  /** What comes of a token: most are good, some cards are refused, and some payments take their time. */
  const statusOf = (token: string): Status | Error => {
    const [, fate] = token.split('_')
    if (fate === 'declined') return failing('StripeCardError', 402, 'card_declined')
    if (fate === 'gone') return failing('StripeInvalidRequestError', 400, 'resource_missing')
    if (fate === 'slow') return 'processing'
    return fate === 'asks' ? 'requires_action' : 'succeeded'
  }

  const later = (intent: Intent): void => {
    // A bank, or the holder of a card, may take longer than Stripe remembers its answer.
    const at = random() < 0.3 ? 25 * HOUR_MS : pick(200, 20_000)
    if (intent.status === 'processing')
      world.after(at, () => {
        intent.status = random() < 0.7 ? 'succeeded' : 'requires_payment_method'
      })
    // Its holder confirms it, unless it was canceled by then.
    if (intent.status === 'requires_action' && random() < 0.7)
      world.after(at, () => {
        if (intent.status === 'requires_action') intent.status = 'succeeded'
      })
  }

  const make = (params: Record<string, any>, key: string): First => {
    const at = world.now()
    const token = String(params.shared_payment_granted_token)
    const status = statusOf(token)
    if (status instanceof Error) return { at, error: status }
    // Its own fault: it may have charged or not, and says the same to each repeat.
    const broken = chance(0.1)
    if (broken) hit('stripe: a fault that stays')
    if (broken && random() < 0.5) return { at, error: failing('StripeAPIError', 500) }
    const intent: Intent = { id: `pi_${++serial}`, token, cents: BigInt(params.amount), key, status }
    intents.push(intent)
    later(intent)
    return broken ? { at, error: failing('StripeAPIError', 500) } : { at, intent: { ...intent } }
  }

  const known = (key: string): First | undefined => {
    const first = firsts.get(key)
    return first !== undefined && world.now() - first.at < DAY_MS ? first : undefined
  }

  const railOf = (alive: () => boolean): CardRail => {
    /** Runs what reaches Stripe, and tells the process of it, unless one of the two is lost. */
    const asking = <T>(run: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        const tell = (ms: number, how: () => void) => world.after(ms, () => alive() && how())
        if (chance(0.05)) return tell(ANSWER_WAIT_MS, () => reject(unheard()))
        world.after(pick(3, 120), () => {
          if (chance(0.04)) return tell(1, () => reject(failing('StripeRateLimitError', 429)))
          // The operator's key is being changed.
          if (chance(0.02)) return tell(1, () => reject(failing('StripeAuthenticationError', 401)))
          let answer: () => void
          try {
            const value = run()
            answer = () => resolve(value)
          } catch (error) {
            answer = () => reject(error)
          }
          if (!chance(0.1)) return tell(pick(1, 20), answer)
          hit('stripe: answer lost')
          tell(ANSWER_WAIT_MS, () => reject(unheard()))
        })
      })
    const intentOf = (id: string): Intent => {
      const found = intents.find((one) => one.id === id)
      if (found === undefined) throw new Error(`nobody made ${id}`)
      return found
    }
    const create = (params: object, { idempotencyKey: key = '' }: Stripe.RequestOptions) => {
      const parallel = running.has(key)
      if (!parallel) running.add(key)
      return asking(() => {
        if (parallel && known(key) === undefined) throw failing('StripeIdempotencyError', 409)
        const first = known(key) ?? make(params, key)
        firsts.set(key, first)
        if (first.error !== undefined) throw first.error
        return INTENT(first.intent as Intent)
      }).finally(() => parallel || running.delete(key))
    }
    const cancel = (id: string) =>
      asking(() => {
        const intent = intentOf(id)
        if (intent.status === 'succeeded' || intent.status === 'processing')
          throw failing('StripeInvalidRequestError', 400, 'payment_intent_unexpected_state')
        intent.status = 'canceled'
        hit('stripe: canceled')
        return INTENT(intent)
      })
    const search = ({ query }: { query: string }) => {
      hit('stripe: looked for')
      return asking(() => ({ data: intents.filter(({ key }) => query.includes(`'${key}'`)).map(INTENT) }))
    }
    const paymentIntents = {
      create,
      retrieve: (id: string) => asking(() => INTENT(intentOf(id))),
      cancel,
      search,
    } as unknown as Stripe['paymentIntents']
    const clock = { now: () => EPOCH + Math.floor(world.now()) }
    const parts = { settings: { networkId: PROFILE }, log: silentLog }
    const rail = openCardRail({ paymentIntents }, parts, { clock, settleMs: x402Options.settleMs })
    if (rail === undefined) throw new Error('cards are off')
    return rail
  }

  const FATES = ['good', 'good', 'good', 'good', 'good', 'good', 'slow', 'asks', 'declined', 'gone']

  return {
    railOf,
    received: () =>
      intents.reduce((sum, { status, cents }) => (status === 'succeeded' ? sum + cents : sum), 0n),
    charged: (nonce) => {
      const paid = intents.filter(
        ({ status, token }) => status === 'succeeded' && granted.get(token)?.nonce === nonce,
      )
      if (paid.length > 1) fail(`one challenge was charged ${paid.length} times`)
      const [only] = paid
      return only && { cents: only.cents, header: granted.get(only.token)?.header ?? '' }
    },
    calm: () => {
      calm = true
    },
    pledge: (challenges) => {
      const challenge = challengesIn(challenges ?? '').find(({ method }) => method === 'stripe')
      if (challenge === undefined) return undefined
      const { amount } = JSON.parse(Buffer.from(challenge.request ?? '', 'base64url').toString())
      const nonce = Buffer.from(challenge.id ?? '', 'base64url').toString('hex')
      const answer = (): string => {
        const token = `spt_${FATES[wallets.pick(0, FATES.length - 1)]}_${granted.size}`
        const credential = { challenge, payload: { spt: token } }
        const header = `Payment ${Buffer.from(JSON.stringify(credential)).toString('base64url')}`
        granted.set(token, { nonce, header })
        return header
      }
      const id = `stripe:${PROFILE}:usd:${nonce}`
      return { id, nonce, units: BigInt(amount), header: answer(), other: answer }
    },
  }
}

/** Where payers' money comes in: at Stripe if they pay by card, else on the chain. */
export const tillOf = (chain: SimulatedChain, cards: Cards | undefined) => {
  /** Of a dollar, or of the token. */
  const unit: Nano = cards === undefined ? UNIT : CENT
  const landed = (nonce: string): { readonly state?: string; readonly taken?: bigint } => {
    if (cards === undefined) return chain.authorizations.get(nonce) ?? {}
    const paid = cards.charged(nonce)
    return paid === undefined ? {} : { state: 'paid', taken: paid.cents }
  }
  return {
    unit,
    landed,
    /** The house's account of it. */
    account: cards === undefined ? 'x402' : 'cash',
    received: (): Nano => (cards ?? chain).received() * unit,
    calm: (): void => {
      chain.calm()
      cards?.calm()
    },
    railOf: (alive: () => boolean) => ({
      ...chain.railOf(alive),
      // No node shows what is paid at Stripe.
      ...(cards && {
        card: cards.railOf(alive),
        chain: { look: async () => ({ state: 'unknown' as const }) },
      }),
    }),
  }
}

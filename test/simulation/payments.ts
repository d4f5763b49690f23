/**
 * Callers who pay call by call: they ask for quotes, sign, send to one process or to two at once, send again, give up,
 * try to pay for two requests at once, and claim their change twice. And the laws of all that.
 */

import { silentLog } from '../../src/core/log.ts'
import type { Nano } from '../../src/core/money.ts'
import { challengesIn } from '../../src/payment/mpp/challenge.ts'
import { GUESTS_KEY, openX402 } from '../../src/payment/x402.ts'
import type { Store } from '../../src/store/port.ts'
import { byTest } from '../by-test.ts'
import { type CardPledge, createCards, tillOf } from './card-rail.ts'
import { offersIn, sign } from './payloads.ts'
import { hash, type Running, UNIT, x402Options } from './process.ts'
import { createChain } from './rail.ts'
import { BEARER, costOf, openShop, type Reply, type Request, type Shop } from './shop.ts'
import type { Stage } from './stage.ts'

export type Payments = {
  setUp(): Promise<void>
  open(process: Running): Shop
  /** One caller, from its quote to its change. */
  buy(): Promise<void>
  /** The accounts with this money. */
  accounts(): readonly string[]
  /** With all processes gone: a new one resolves what is still open, for a day and an hour. */
  finish(): Promise<void>
}

type Answered = {
  readonly callId: string
  readonly order: number
  readonly cost: Nano | undefined
  /** The payment, as it was sent. */
  readonly header: string
}

type Bought = {
  readonly id: string
  readonly nonce: string
  readonly scheme: 'exact' | 'upto'
  /** What was signed for. */
  readonly units: bigint
  readonly bearer: boolean
  /** By card: the same challenge, answered with another token. */
  readonly other?: CardPledge['other']
  readonly answers: Answered[]
  /** Requests that were under way under this payment, and the longest of them. */
  requests: number
  longestMs: number
}

export type PaymentParts = Stage & {
  readonly store: () => Store
  readonly shop: () => { readonly shop: Shop | undefined; readonly alive: () => boolean }
  readonly longestCallMs: number
  /** All pay by card, without a key; else all pay on a chain. */
  readonly byCard?: true
}

const BEARER_WALLET = 'xb'
const BEARER_KEY = 'xk'
const CHANGE_WALLETS = ['xc', 'xd'] as const
const PATIENCE_MS = 6_000
const HOUR_MS = 3_600_000
/** Reasons for which the same payment is useless. */
const HOPELESS =
  /insufficient_funds|quote_mismatch|invalid_challenge|already_used|disabled|cap|expired|payment_failed|declined|authentication_required|method_/

export const createPayments = (parts: PaymentParts): Payments => {
  const { world, fail, guard, sleep, byCard = false } = parts
  const hit = (what: string) => parts.hit(`${byCard ? 'cards' : 'x402'}: ${what}`)
  const { after } = world
  const { random, pick } = world.draws('payers')
  const chain = createChain(world, parts.hit)
  const cards = byCard ? createCards(world, parts) : undefined
  const till = tillOf(chain, cards)
  const bought = new Map<string, Bought>()
  let serial = 0

  /** Asks some process; a caller waits for a limited time, and hears nothing from one that died. */
  const ask = (request: Request): Promise<Reply | undefined> => {
    const { shop, alive } = parts.shop()
    return new Promise((resolve) => {
      after(PATIENCE_MS, () => resolve(undefined))
      if (shop === undefined) return resolve(undefined)
      shop.ask(request).then(
        (reply) => alive() && resolve(reply),
        (error: unknown) => fail(String(error)),
      )
    })
  }

  type Pledged = { it: Bought; payment: NonNullable<Request['payment']> }

  const pledgeCard = (quote: Reply): Pledged | undefined => {
    const granted = cards?.pledge(quote.headers['www-authenticate'])
    if (granted === undefined) return undefined
    const { header, ...rest } = granted
    const it: Bought = { ...rest, scheme: 'exact', bearer: false, answers: [], requests: 0, longestMs: 0 }
    bought.set(it.id, it)
    return { it, payment: { version: 'mpp', header } }
  }

  const pledge = (quote: Reply, bearer: boolean): Pledged | undefined => {
    const offers = offersIn(quote.headers['payment-required'])
    const [challenge] = challengesIn(quote.headers['www-authenticate'] ?? '')
    const byMpp = challenge !== undefined && random() < 0.3
    const version = byMpp ? 'mpp' : random() < 0.4 ? 1 : 2
    const scheme = version === 2 && random() < 0.5 ? 'upto' : 'exact'
    const accepted = offers.find((one) => one.scheme === scheme)
    if (accepted === undefined) return undefined
    const poor = random() < 0.06
    const { header, ...signed } = sign(
      { world, chain },
      { accepted, number: ++serial, poor, version, ...(byMpp ? { challenge } : {}) },
    )
    const it: Bought = { ...signed, scheme, bearer, answers: [], requests: 0, longestMs: 0 }
    bought.set(it.id, it)
    if (random() < 0.03)
      after(pick(0, 600), () => {
        const on = chain.authorizations.get(it.nonce)
        if (on?.state === 'unused') on.state = 'cancelled'
      })
    return { it, payment: { version, header } }
  }

  /** Sends a request with its payment, and compares the answer with those before it. */
  const present = async (it: Bought, request: Request): Promise<Reply | undefined> => {
    const sentAt = world.now()
    it.requests++
    const reply = await ask(request)
    it.longestMs = Math.max(it.longestMs, world.now() - sentAt)
    if (reply === undefined) hit('no answer')
    else hit(`${reply.status === 500 ? 'fault' : reply.code}`)
    if (reply?.status !== 200 || !reply.complete) return reply
    const { callId, cost } = reply
    for (const one of it.answers) {
      if (one.order !== request.order.id) fail('one payment paid for two requests')
      if (one.callId !== callId) fail('one payment was answered as two calls')
    }
    if (cost !== undefined && cost > it.units * till.unit) fail('a call told a higher cost than its payment')
    if (cost !== undefined && cost !== costOf(request.order))
      fail(`told ${cost} for ${costOf(request.order)}`)
    if (reply.headers['idempotent-replayed'] === 'true') hit('replayed')
    it.answers.push({ callId, order: request.order.id, cost, header: request.payment?.header ?? '' })
    return reply
  }

  const buy = async (): Promise<void> => {
    const bearer = random() < 0.4 && !byCard
    const request: Request = {
      order: {
        id: pick(100_000, 999_999),
        input: pick(1, 60),
        output: pick(1, 100),
        ms: random() < 0.05 ? pick(400, 2_500) : pick(1, 200),
      },
      stream: random() < 0.5,
      maxTokens: pick(100, 200),
      bearer,
      ...(bearer && random() < 0.5 ? { idempotencyKey: `i${pick(1, 1e9)}` } : {}),
    }
    const quote = await ask(request)
    if (quote?.status !== 402) return hit('no quote')
    const signed = byCard ? pledgeCard(quote) : pledge(quote, bearer)
    // A facilitator that has not answered yet: one scheme is not offered then.
    if (signed === undefined) return hit('scheme not offered')
    const { it, payment } = signed
    hit(`pays by ${byCard ? 'card' : payment.version === 'mpp' ? 'mpp' : it.scheme}`)
    // All of such a payment is on the chain, so that its sender needs something else to be known by.
    const named = payment.version === 1 && !bearer ? { idempotencyKey: `g${serial}` } : {}
    const paid = { ...request, ...named, payment }
    if (await insist(it, paid)) {
      hit('answered')
      if (random() < 0.4) await present(it, otherKey(paid))
    }
    if (random() < 0.2) await present(it, otherOrder(paid))
    if (!bearer && random() < 0.7) await claim(it)
  }

  /** The same payment for another request of the same price, or under another Idempotency-Key. */
  const otherOrder = (paid: Request): Request => ({
    ...otherKey(paid),
    order: { ...paid.order, id: paid.order.id === 999_999 ? 100_000 : paid.order.id + 1 },
  })
  /** Under the same challenge with another token: it must not be charged as well, nor get the answer of the first. */
  const otherToken = ({ other }: Bought, paid: Request): Request =>
    other === undefined ? paid : { ...paid, payment: { version: 'mpp', header: other() } }
  const otherKey = (paid: Request): Request =>
    paid.bearer && random() < 0.5 ? { ...paid, idempotencyKey: `o${pick(1, 1e9)}` } : paid

  /** Sends until it is answered, refused for good, or the payer has had enough. */
  const insist = async (it: Bought, paid: Request): Promise<boolean> => {
    for (let tries = 0; tries < 12; tries++) {
      const copies = [present(it, paid)]
      if (random() < 0.25) copies.push(present(it, otherKey(paid)))
      if (random() < 0.1) copies.push(present(it, otherOrder(paid)))
      if (byCard && random() < 0.2) copies.push(present(it, otherToken(it, paid)))
      const replies = await Promise.all(copies)
      if (replies.slice(0, 1).some((reply) => reply?.complete === true)) return true
      if (HOPELESS.test(replies[0]?.code ?? '') && random() < 0.8) return false
      if (random() < 0.15) {
        hit('payer gave up')
        return false
      }
      await sleep(pick(20, 1_500))
    }
    return false
  }

  /** Two wallets ask for the same change, of two processes perhaps. */
  const claim = async ({ id }: Bought): Promise<void> => {
    const one = async (wallet: string) => {
      const outcome = await parts.shop().shop?.claim(id, wallet)
      if (outcome !== undefined) hit(`change ${outcome.outcome}`)
    }
    for (const wallet of CHANGE_WALLETS) if (random() < 0.8) guard(one(wallet))
  }

  const accountOf = (id: string): string => `x402:${hash(`x402 account ${id}`).slice(0, 32)}`

  const checkBill = async ({ id, answers, units, requests, longestMs }: Bought): Promise<void> => {
    const [answer] = answers
    if (answer === undefined) return
    const posted = await parts.store().ledger.transfersOf(answer.callId)
    const [only] = posted
    if (only === undefined || posted.length > 1)
      return fail(`an answered paid call is billed ${posted.length} times`)
    const payment = await parts.store().payments.payment(id)
    if (payment?.callId !== answer.callId) return fail('an answered paid call is not that of its payment')
    // A process that was cut off, and whose call another took over, may find the money spent: then the house pays.
    const lone = requests === 1 && longestMs < parts.longestCallMs
    if (only.kind === 'writeoff') return lone ? fail('a lone paid call was written off') : hit('written off')
    if (only.kind !== 'usage' || only.debit !== payment.account)
      return fail(`a paid call is billed to ${only.debit}`)
    if (only.amount > units * till.unit) return fail('a payment spends more than itself')
    const exact = answers.some(({ cost }) => cost === only.amount)
    if (!exact && (only.note == null || lone)) return fail(`billed ${only.amount}, told ${answer.cost}`)
    hit(exact ? 'bill exact' : `bill ${only.note}`)
  }

  /** Nobody has an answer that ended well without having paid for it, except where the house pays. */
  const checkAnswered = async ({ id, answers }: Bought): Promise<void> => {
    const [answer] = answers
    const payment = await parts.store().payments.payment(id)
    if (answer === undefined || payment?.state === 'settled') return
    const posted = await parts.store().ledger.transfersOf(answer.callId)
    if (posted.some(({ kind }) => kind === 'usage'))
      fail(`answered and charged, and its payment is ${payment?.state}`)
    hit('answered at the cost of the house')
  }

  const landed = ({ nonce, answers }: Bought) => {
    const paid = cards?.charged(nonce)?.header
    if (cards !== undefined && answers.some(({ header }) => header !== paid))
      fail('an answer went to another token than the one that paid')
    return till.landed(nonce)
  }

  /** What a payment brought is its call's charge and its change; the change has one receiver. */
  const checkPayment = async (it: Bought, change: Map<string, Nano>): Promise<void> => {
    const store = parts.store()
    const payment = await store.payments.payment(it.id)
    const { state: onChain, taken = 0n } = landed(it)
    await checkAnswered(it)
    if (payment?.state === 'settling' || payment?.state === 'authorized')
      return fail('the outcome of a payment was never found out')
    if ((onChain === 'paid') !== (payment?.state === 'settled'))
      return fail(`on the chain a payment is ${onChain}, in the ledger ${payment?.state}`)
    if (payment !== undefined && (await store.ledger.balance(payment.account)) !== 0n)
      fail('a payment account is not empty at its end')
    if (payment?.state !== 'settled') return hit(`ended ${payment?.state ?? 'unseen'}`)
    const posted = await store.ledger.transfersOf(payment.callId)
    const spent = posted
      .filter(({ kind, debit }) => kind === 'usage' && debit === payment.account)
      .reduce((sum, { amount }) => sum + amount, 0n)
    if (spent === 0n) hit('paid back whole')
    const to = payment.changeTo
    if (to === undefined) return fail('change was never given')
    if (payment.amount !== taken * till.unit)
      fail(`taken ${taken * till.unit}, in the ledger ${payment.amount}`)
    if (it.scheme === 'upto' && (taken * UNIT < spent || taken * UNIT >= spent + UNIT))
      fail(`charged ${spent}, taken ${taken * UNIT}`)
    change.set(to, (change.get(to) ?? 0n) + taken * till.unit - spent)
    await checkBill(it)
  }

  const checkAll = async (): Promise<void> => {
    const store = parts.store()
    const received = till.received()
    const booked = await store.ledger.balance(till.account)
    if (booked !== -received) fail(`settled ${received}, in the ledger ${booked}`)
    const change = new Map<string, Nano>()
    for (const it of bought.values()) await checkPayment(it, change)
    for (const wallet of [BEARER_WALLET, ...CHANGE_WALLETS]) {
      const given = await store.ledger.balance(wallet)
      if (given !== (change.get(wallet) ?? 0n)) fail(`change of ${change.get(wallet)} is ${given}`)
    }
    await parts.audit(store)
  }

  return {
    setUp: async () => {
      const store = parts.store()
      for (const id of [BEARER_WALLET, ...CHANGE_WALLETS])
        await store.wallets.createWallet({ id, orgId: 'o', name: id }, byTest)
      await store.keys.createKey(
        {
          id: BEARER_KEY,
          hash: hash(BEARER),
          orgId: 'o',
          walletId: BEARER_WALLET,
          label: 'pays by x402',
          prefix: 'k',
          limits: random() < 0.5 ? {} : { spendCap: BigInt(pick(3, 30)) * 1_000_000n },
        },
        byTest,
      )
    },
    open: (process) => openShop(world, process, till.railOf(process.alive)),
    buy,
    accounts: () => [till.account, BEARER_WALLET, ...CHANGE_WALLETS, ...[...bought.keys()].map(accountOf)],
    finish: async () => {
      till.calm()
      const store = parts.store()
      const clock = world.clock(() => false)
      const mode = await openX402(
        { store, clock, log: silentLog, hash, options: x402Options },
        till.railOf(() => true),
      )
      if ((await store.keys.key(GUESTS_KEY)) === undefined) fail('there is no key for guests')
      for (let hour = 0; hour < 27; hour++) {
        await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })
        await mode.round()
        await sleep(HOUR_MS)
      }
      for (const { id, bearer } of bought.values()) {
        if (bearer) continue
        await Promise.all(CHANGE_WALLETS.map((wallet) => mode.payChange(id, wallet)))
      }
      await checkAll()
    },
  }
}

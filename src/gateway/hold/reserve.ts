/** The hold of a call: its ceiling on every limit at once, or the largest hold that is affordable. */
import type { Ceiling } from '../../admission/ceiling.ts'
import type { Hold, HoldRefused, HoldRequest, Soon } from '../../book/contract.ts'
import type { Call } from '../../core/call.ts'
import type { Model, Priced } from '../../core/model.ts'
import { least, type Nano } from '../../core/money.ts'
import type { Mutable } from '../../core/mutable.ts'
import { invalid, Refusal } from '../../core/refusal.ts'
import type { AccountId } from '../../ledger/types.ts'
import { chargeFor } from '../../pricing/charge.ts'
import { affordableOutput, ceiling as ceilingOf, smallestUseful, usedUpBelow } from '../../pricing/quote.ts'
import type { Key } from '../../tenancy/key.ts'
import { tooDear } from '../parts/credits.ts'
import type { Gateway } from '../parts/gateway.ts'
import { doesNotFit } from './does-not-fit.ts'
import { holdFor } from './job-hold.ts'

export type Reserved = {
  /** The call as it is held, perhaps with a tighter bound on its input. */
  readonly call: Call
  readonly hold: Hold
  /** The bound to send in place of the model's own, because no more is affordable. */
  readonly outputBound: number | undefined
  readonly heldOutput: number
  readonly fullOutput: number
}

export type ReserveRequest = {
  readonly key: Key
  /** The sub-wallet that the call names. */
  readonly sub: string | undefined
  /** The account that pays when it is not the key's wallet. */
  readonly payer: AccountId | undefined
  /** What it is for, of the tags under budget. */
  readonly tags?: string | undefined
  readonly call: Call
  readonly model: Model
  readonly ceiling: Ceiling
  /** The most output in each answer for a caller who gave no bound; by default the model's own. */
  readonly outputMost?: number | undefined
  readonly callId: string
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal
}

/**
 * A stream without a bound of its own starts on a hold of this many output tokens, or of this share of the most it can
 * have.
 */
const FIRST_OUTPUT = 4096
/** A lower bound is never sent in place of the model's own: the answer would be of little use. */
const LEAST_OUTPUT = 256
const SHARE = 10

const firstOutput = ({ maxOutputTokens }: Model): number =>
  Math.max(FIRST_OUTPUT, Math.ceil(maxOutputTokens / SHARE))
const leastOutput = ({ maxOutputTokens }: Model): number =>
  Math.max(LEAST_OUTPUT, Math.ceil(maxOutputTokens / SHARE))

/** How often we lower the bound to what is left, if other calls take that in the meantime. */
const TRIES = 3

/** The output bound in each of a call's answers, and the most the call can cost. */
export type Plan = { readonly output: number; readonly amount: Nano }

type Planned = Pick<ReserveRequest, 'call' | 'model' | 'ceiling'> & {
  /** Who is told what it would cost; absent for payers without a reseller. */
  readonly key?: Pick<Key, 'terms'>
}

/** Plans a call within its ceiling; `most` bounds the output of a caller who gave no bound. */
export const planCall = (
  gateway: Gateway,
  { call, model, ceiling, key = {} }: Planned,
  most: number,
): Plan | Refusal => {
  if (call.media?.priced !== undefined) return planPriced(gateway, key, call.media.priced, ceiling)
  const explicit = call.maxOutput
  if (explicit !== undefined && explicit > model.maxOutputTokens)
    return invalid(
      'max_tokens',
      `'max_tokens' is ${explicit}; ${model.id} answers with at most ${model.maxOutputTokens} tokens.`,
    )
  const output = explicit ?? Math.min(most, model.maxOutputTokens)
  const amount = ceilingOf(model, call.size, output, call.choices)
  if (ceiling === undefined || amount <= ceiling.amount) return { output, amount }
  const affordable =
    explicit === undefined ? affordableOutput(model, call.size, call.choices, ceiling.amount) : 0
  if (affordable < 1)
    return tooDear(gateway, key, explicit === undefined ? smallestUseful(model, call.size) : amount, ceiling)
  const lowered = Math.min(affordable, output)
  return { output: lowered, amount: ceilingOf(model, call.size, lowered, call.choices) }
}

/** A call that is priced by its inputs costs exactly what they say: nothing can be lowered. */
const planPriced = (
  gateway: Gateway,
  key: Pick<Key, 'terms'>,
  { price, most }: Priced,
  ceiling: Ceiling,
): Plan | Refusal => {
  const amount = chargeFor(price, most)
  return ceiling !== undefined && amount > ceiling.amount
    ? tooDear(gateway, key, amount, ceiling)
    : { output: 0, amount }
}

/** What is held at once: the output in all, as much of it as the call starts on, and the most that this costs. */
type Try = {
  readonly output: number
  readonly first: number
  readonly amount: Nano
  /** What that costs by the vendor's list price, for a call by an own key. */
  readonly list?: Nano | undefined
}

const tryOf = ({ call, model }: ReserveRequest, plan: Plan, output: number): Try => {
  const first = startsSmall(call) ? Math.min(output, firstOutput(model)) : output
  const amount =
    call.media !== undefined || first === plan.output
      ? plan.amount
      : ceilingOf(model, call.size, first, call.choices)
  return model.own === undefined
    ? { output, first, amount }
    : { output, first, amount, list: listOf(call, model.own.list, first) }
}

/** What the vendor bills for an own key at most, if the model is sold with one: `output` tokens in each answer. */
export const listHoldOf = (call: Call, { own }: Model, output: number): HoldRequest['list'] =>
  own === undefined ? undefined : withUseful(own.list, listOf(call, own.list, output))

const withUseful = (list: Model, amount: Nano) => ({ amount, useful: least(usedUpBelow(list), amount) })

const listOf = ({ media, size, choices }: Call, list: Model, output: number): Nano =>
  media?.priced === undefined
    ? ceilingOf(list, size, output, choices)
    : chargeFor(media.priced.list ?? media.priced.price, media.priced.most)

type Lowering = {
  readonly ask: ReserveRequest
  readonly plan: Plan
  readonly mayLower: boolean
  /** The least output that is of use. */
  readonly least: number
  readonly waits: boolean
}

type HoldTaken = Hold | HoldRefused | Refusal

/**
 * Holds the most that the call can cost. If the caller gave no bound, a stream starts on a share of it and grows. What
 * does not fit is lowered to what is left, but not below the least useful output. For that least, the call also waits a
 * little when other open calls hold the money.
 */
const reserveWithin = (gateway: Gateway, ask: ReserveRequest, waits: boolean): Soon<Reserved | Refusal> => {
  const { call, model } = ask
  const plan = planCall(gateway, ask, ask.outputMost ?? model.maxOutputTokens)
  if (plan instanceof Refusal) return plan
  const mayLower = model.kind === 'chat' && call.maxOutput === undefined
  const least = mayLower ? Math.min(plan.output, leastOutput(model)) : plan.output
  const lowering = { ask, plan, mayLower, least, waits }
  const tried = tryOf(ask, plan, plan.output)
  const hold = take(gateway, lowering, tried)
  // Most calls fit at once: no promise is made for them.
  return hold instanceof Promise || isShort(hold)
    ? orLess(gateway, lowering, tried, hold)
    : heldAs(hold, lowering, tried)
}

const take = (gateway: Gateway, { ask, least, waits }: Lowering, tried: Try): Soon<HoldTaken> =>
  holdOf(gateway, ask, tried, waits && tried.first <= least)

const isShort = (hold: HoldTaken): hold is HoldRefused => !(hold instanceof Refusal) && 'outcome' in hold

/** The first try, or the one after it with less output that fits. */
const orLess = async (
  gateway: Gateway,
  lowering: Lowering,
  most: Try,
  taken: Soon<HoldTaken>,
): Promise<Reserved | Refusal> => {
  const { ask, plan, least } = lowering
  const { call, model } = ask
  let tried = most
  let hold = await taken
  let usedUp: HoldRefused | undefined
  for (let tries = 1; isShort(hold); tries++) {
    if (tried.first <= least) return tooShort(gateway, lowering, tried, hold)
    if (hold.spent) usedUp = hold
    const priced = (hold.estimated && model.own?.list) || model
    const affordable = affordableOutput(priced, call.size, call.choices, hold.available)
    const next = tries < TRIES && affordable < tried.first ? Math.max(affordable, least) : least
    tried = tryOf(ask, plan, next)
    hold = await take(gateway, lowering, tried)
  }
  // A try that finds a cap used up turns the key off, and the next one finds it off. Its caller is told of the cap, and
  // what the least would have cost.
  if (usedUp !== undefined && isOff(hold)) return tooShort(gateway, lowering, tryOf(ask, plan, least), usedUp)
  return heldAs(hold, lowering, tried)
}

const heldAs = (
  hold: Hold | Refusal,
  { ask: { call, model }, mayLower }: Lowering,
  { output, first }: Try,
): Reserved | Refusal =>
  hold instanceof Refusal
    ? hold
    : {
        call,
        hold,
        outputBound: mayLower && output < model.maxOutputTokens ? output : undefined,
        heldOutput: first * call.choices,
        fullOutput: output * call.choices,
      }

const tooShort = (
  gateway: Gateway,
  { ask, mayLower }: Lowering,
  { first, amount, list }: Try,
  hold: HoldRefused,
): Refusal => {
  const required = (hold.estimated && list) || amount
  const need = { required, leastOutput: mayLower ? first : undefined }
  return doesNotFit({ ...hold, key: ask.key }, need, gateway)
}

const isOff = (found: Reserved | Hold | Refusal): boolean =>
  found instanceof Refusal && found.code === 'key_disabled'

/** Refusals that a tighter bound may avoid. */
const moneyCodes: readonly string[] = ['insufficient_balance', 'balance_held', 'max_cost_exceeded']

/** Holds the money of a call: for the bound that cannot be exceeded or, if that does not fit, for a tighter one. */
export const reserve = (gateway: Gateway, ask: ReserveRequest): Soon<Reserved | Refusal> => {
  const mayTighten = gateway.memory.houseRisk.worthwhile(ask.call.size)
  const first = reserveWithin(gateway, ask, !mayTighten)
  return mayTighten ? orTighter(gateway, ask, first) : first
}

const orTighter = async (
  gateway: Gateway,
  ask: ReserveRequest,
  reserved: Soon<Reserved | Refusal>,
): Promise<Reserved | Refusal> => {
  const first = await reserved
  if (!(first instanceof Refusal) || !moneyCodes.includes(first.code)) return first
  const risk = gateway.memory.houseRisk.take(ask.key.walletId, ask.model, ask.call)
  if (risk === undefined) return reserveWithin(gateway, ask, true)
  const second = await reserveWithin(gateway, { ...ask, call: risk.call }, true)
  if (!(second instanceof Refusal)) return { ...second, hold: risk.watch(second.hold) }
  risk.drop()
  return isOff(second) ? first : second
}

const holdOf = (
  gateway: Gateway,
  ask: ReserveRequest,
  { amount, list }: Try,
  waits: boolean,
): Soon<HoldTaken> => {
  const { callId, key, sub, payer, tags, model, call, signal } = ask
  const useful = least(usedUpBelow(model), amount)
  const held: Mutable<HoldRequest> = { callId, key, sub, payer, tags, amount, useful, waits, signal }
  if (list !== undefined && model.own !== undefined) held.list = withUseful(model.own.list, list)
  return call.media === undefined ? gateway.book.hold(held) : holdFor(gateway, model.id, held)
}

/** During the stream, the delivered text and the time the model thinks tell how much is used. */
const startsSmall = (call: Call): boolean =>
  call.kind === 'chat' && call.stream && call.maxOutput === undefined

/**
 * The refusal of a call that does not fit its limits: a 402 if the money is spent, a 429 with a time to come back if it
 * is held.
 */
import { ASK_LESS } from '../../admission/ceiling.ts'
import type { HoldRefused } from '../../book/contract.ts'
import { decimalFromNano, exactNumber, greatest, type Nano } from '../../core/money.ts'
import { type Refusal, refuse, retryIn } from '../../core/refusal.ts'
import { WALLET_MINIMUM } from '../../ledger/lend.ts'
import type { BindingBudget, BindingLimit } from '../../ledger/types.ts'
import type { Key } from '../../tenancy/key.ts'
import { type CapMember, capList, capNamed, limitList } from '../../tenancy/limits.ts'
import { SUB_TAG } from '../../tenancy/tags.ts'
import { tellsNothing, told } from '../../tenancy/terms.ts'
import { inCredits, neededInCredits } from '../parts/credits.ts'
import type { Gateway } from '../parts/gateway.ts'

const limitTexts: Readonly<Record<Exclude<BindingLimit, CapMember>, string>> = {
  wallet: 'the wallet',
  budget: 'the budget',
  sub_wallet: 'the sub-wallet',
  daily_limit_usd: "the wallet's daily limit",
  stop_at_remaining_usd: 'the amount that must stay in the wallet',
  credit_line: 'the credit line',
  no_credit_line: 'the credit line',
  past_due: 'the credit line',
  payment: 'the payment',
}

const textOf = (limit: BindingLimit): string =>
  capNamed(limit)?.cap.called ?? limitTexts[limit as Exclude<BindingLimit, CapMember>]

/** Why nothing can be charged to the credit line, and what to do. */
const barTexts: Readonly<Partial<Record<BindingLimit, string>>> = {
  no_credit_line:
    'Post-paid billing (mpp) is not enabled for this account: the operator grants a credit line. ' +
    "Leave 'X-Payment-Protocol' out to pay from the wallet.",
  past_due:
    'Post-paid billing (mpp) is suspended: an invoice is past due, or a payment was taken back. GET /api/billing shows it. ' +
    "Pay it, or leave 'X-Payment-Protocol' out to pay from the wallet.",
}

/** Whether the calling key may change the limit by itself; what its creator set, only that one can widen. */
const mayChange = ({ limit, owner, key }: Binding): boolean => {
  const { id, limits, granted, canManage, subWallet, ancestors } = key
  const manages = canManage && subWallet === undefined
  if (limit === 'sub_wallet') return manages
  if (limit === 'daily_limit_usd' || limit === 'budget') return manages && ancestors.length === 0
  if (owner !== id) return false
  const [name] = limitList.find(([, { member }]) => member === limit) ?? []
  return name !== undefined && (granted[name] === undefined || limits[name] !== granted[name])
}

/** What helps, and who can do it: an agent that cannot need not try. `less` is the other way, if there is one. */
const remedyOf = (binding: Binding, less: string | undefined): string => {
  const { limit, key } = binding
  const or = less === undefined ? '' : ` or ${less}`
  if (limit === 'wallet') return `Add credits${or}`
  const may = mayChange(binding)
  if (limit === 'stop_at_remaining_usd') return `Add credits${may ? ', lower that amount' : ''}${or}`
  if (may) return `Raise the limit${or}`
  const who = limit === 'credit_line' ? 'the operator' : 'the operator or the reseller'
  // Such a key stays bound to a sub-wallet that was deleted, whose limit nobody can raise.
  const bound = limit === 'sub_wallet' && key.subWallet !== undefined
  const anew = bound ? ', or make another key if the sub-wallet was deleted' : ''
  return `Only ${who} can raise the limit${anew}${less === undefined ? '' : `; ${less}`}`
}

/** Seconds after which held money may be free again; most calls take a few seconds. */
const HELD_RETRY_SECONDS = 2

/** The limit that binds, with what is left of it; for a key's cap also the key that owns it. */
export type Binding = Pick<
  HoldRefused,
  'limit' | 'owner' | 'budget' | 'spent' | 'available' | 'held' | 'estimated'
> & {
  /** The key that calls. */
  readonly key: Pick<Key, 'id' | 'ancestors' | 'limits' | 'granted' | 'canManage' | 'subWallet' | 'terms'>
}

type Need = {
  readonly required: Nano
  /** The least output worth sending when the caller gave no bound; undefined when it gave one. */
  readonly leastOutput?: number | undefined
}

/** Of a call by an own key: caps count what its vendor bills, and not only the fee. */
const BY_LIST = " for your vendor key, estimated by the vendor's list price"

/** What is needed and what is there, as members and as words; a tenant is told them in its price, or in words alone. */
const figuresOf = (
  { limit, owner, budget, key, estimated, ...there }: Binding,
  need: { readonly required: Nano; readonly asked: Nano },
  { options: { creditNano } }: Pick<Gateway, 'options'>,
) => {
  const { terms } = key
  const whose = owner !== undefined && owner !== key.id ? ' of a key above this one' : ''
  const its = `${budget === undefined ? textOf(limit) : budgetCalled(budget)}${whose}`
  const holds = 'while open calls hold'
  if (tellsNothing(terms))
    return {
      figures: {},
      needs: `The call needs more${estimated ? BY_LIST : ''}`,
      has: `${its} has too little available`,
      holds: `${holds} some of it`,
    }
  const required = told(need.required, terms)
  const needed = neededInCredits(required, creditNano)
  const left = inCredits(told(greatest(there.available, 0n), terms), creditNano)
  const held = inCredits(told(there.held, terms), creditNano)
  return {
    figures: {
      required_credits: exactNumber(needed),
      available_credits: exactNumber(left),
      held_credits: exactNumber(held),
    },
    needs:
      need.required > need.asked
        ? `Any call needs ${decimalFromNano(required)} USD in the wallet (${needed} credits)`
        : `The call needs ${needed} credits${estimated ? BY_LIST : ''}`,
    has: `${its} has ${left} available`,
    holds: `${holds} ${held}`,
  }
}

/** The refusal: which limit binds, whose it is, what is left of it, and how much of it open calls hold. */
export const doesNotFit = (binding: Binding, need: Need, gateway: Pick<Gateway, 'options'>): Refusal => {
  const { limit, spent, estimated } = binding
  const required = limit === 'wallet' ? greatest(need.required, WALLET_MINIMUM) : need.required
  const { figures, needs, has, holds } = figuresOf(binding, { required, asked: need.required }, gateway)
  const turns = turnOf(binding)
  const members = { ...figures, limit, ...whoseOf(binding), ...turns, ...(estimated ? { estimated } : {}) }
  if (!spent)
    return refuse(
      'balance_held',
      `${needs}; ${has} ${holds}. Nothing was charged; try again in ${HELD_RETRY_SECONDS} s or ${lowerOf(need)}.`,
      { ...retryIn(HELD_RETRY_SECONDS), members: { ...members, retry_after: HELD_RETRY_SECONDS } },
    )
  const less = required > need.required ? undefined : lowerOf(need)
  const text =
    barTexts[limit] ??
    `${needs}; ${has}${binding.held > 0n ? ` ${holds}` : ''}. ${turns.resets_at === undefined ? '' : `It begins anew at ${turns.resets_at}. `}${remedyOf(binding, less)}.`
  return refuse('insufficient_balance', text, { members })
}

/** Such as `the monthly budget of team=red`, or `of the team`. */
const budgetCalled = ({ tag, value, period }: BindingBudget): string => {
  const called = capList.find(({ cap }) => cap.period === period)?.cap.called ?? ''
  return `${called.replace(' cap', ' budget')} of ${tag === SUB_TAG ? 'the team' : `${tag}=${value}`}`
}

/** Which budget binds, and when its period begins anew. */
const turnOf = ({
  budget,
}: Binding): { readonly budget?: string; readonly period?: string; readonly resets_at?: string } => {
  if (budget === undefined) return {}
  const { tag, value, period, ends } = budget
  const its = { budget: `${tag}=${value}`, period }
  return ends === undefined ? its : { ...its, resets_at: new Date(ends).toISOString() }
}

const whoseOf = ({ owner, key }: Binding) =>
  owner === undefined ? {} : { limit_owner: owner === key.id ? 'key' : 'parent' }

const lowerOf = ({ leastOutput }: Need): string =>
  leastOutput === undefined
    ? ASK_LESS
    : `set max_tokens: without it, at least ${leastOutput} output tokens are held`

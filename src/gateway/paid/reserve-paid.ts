/** The hold of a paid call: on its payment's own account, under the caps of its caller. */
import type { HoldRequest } from '../../book/contract.ts'
import { least, type Nano } from '../../core/money.ts'
import { must, Refusal, unavailable } from '../../core/refusal.ts'
import type { BindingLimit } from '../../ledger/types.ts'
import { usedUpBelow } from '../../pricing/quote.ts'
import { capList } from '../../tenancy/limits.ts'
import { type Binding, doesNotFit } from '../hold/does-not-fit.ts'
import { holdFor } from '../hold/job-hold.ts'
import type { Plan, Reserved, ReserveRequest } from '../hold/reserve.ts'
import type { Gateway } from '../parts/gateway.ts'

const TRIES = 20
const WAIT_MS = 50

type PaidPlan = {
  readonly plan: Plan
  readonly payer: string
  /** What the payment brought. */
  readonly paid: Nano
}

/** Holds what was paid, or less if the price has fallen since; `spent` when the payment was charged before. */
export const reservePaid = async (
  gateway: Gateway,
  ask: Pick<ReserveRequest, 'key' | 'sub' | 'call' | 'model' | 'callId' | 'signal'> &
    Pick<HoldRequest, 'voucher'>,
  { plan, payer, paid }: PaidPlan,
): Promise<Reserved | Refusal | 'spent'> => {
  const { call, model, key, sub, callId, signal, voucher } = ask
  const amount = least(plan.amount, paid)
  const useful = least(usedUpBelow(model), amount)
  const take = () =>
    holdFor(gateway, model.id, { callId, key, sub, payer, amount, useful, waits: true, signal, voucher })
  let hold = await take()
  for (let tries = 0; !(hold instanceof Refusal) && 'outcome' in hold; tries++) {
    if (hold.limit !== 'payment') return doesNotFit({ ...hold, key }, { required: amount }, gateway)
    if ((await gateway.store.ledger.transfersOf(callId)).length > 0) return 'spent'
    // An earlier attempt still holds the money: it is about to let go, or its process has died. The call is paid, so
    // this is never a 402.
    if (tries === TRIES) return unavailable('An earlier attempt under this payment has not ended.')
    await gateway.store.payments.freeAccount(payer)
    await gateway.clock.sleep(WAIT_MS)
    hold = await take()
  }
  if (hold instanceof Refusal) return hold
  const lowered =
    call.maxOutput === undefined && plan.output < model.maxOutputTokens ? plan.output : undefined
  const tokens = plan.output * call.choices
  return { call, hold, outputBound: lowered, heldOutput: tokens, fullOutput: tokens }
}

type Spender = Pick<ReserveRequest, 'key' | 'sub'>

/**
 * Throws the refusal of a call that does not fit the caller's caps, before it is paid for. The caps are checked again,
 * this time bindingly, when the money is held.
 */
export const checkCaps = async (gateway: Gateway, spender: Spender, amount: Nano): Promise<void> => {
  const { key } = spender
  for (const id of [key.id, ...key.above]) {
    const owner = id === key.id ? key : await gateway.store.keys.key(id)
    if (capList.every(({ name }) => owner?.limits[name] === undefined)) continue
    const { held, ...spend } = await gateway.store.keys.spend(id)
    for (const { name, member: limit, cap: counts } of capList) {
      const cap = owner?.limits[name]
      if (cap !== undefined)
        checkCap(gateway, { limit, owner: id, key }, { cap, used: spend[counts.spent], held, amount })
    }
  }
  await checkWallet(gateway, spender, amount)
}

type CapUse = { readonly cap: Nano; readonly used: Nano; readonly held: Nano; readonly amount: Nano }

const checkCap = (
  gateway: Gateway,
  whose: Pick<Binding, 'limit' | 'owner' | 'key'>,
  { cap, used, held, amount }: CapUse,
): void => {
  const available = cap - used - held
  if (available < amount)
    throw doesNotFit({ ...whose, available, held, spent: cap - used < amount }, { required: amount }, gateway)
}

/** The limits that a key shares with others: its wallet's daily limit, and the sub-wallet it names or is bound to. */
const checkWallet = async (gateway: Gateway, { key, sub }: Spender, amount: Nano): Promise<void> => {
  const check = (limit: BindingLimit, cap: Nano, { spent, held }: { spent: Nano; held: Nano }) =>
    checkCap(gateway, { limit, owner: undefined, key }, { cap, used: spent, held, amount })
  const { dailyLimit } = must(await gateway.book.rules(key.walletId))
  if (dailyLimit !== undefined)
    check('daily_limit_usd', dailyLimit, await gateway.store.wallets.spentToday(key.walletId))
  const id = sub ?? key.subWallet
  if (id === undefined) return
  const found = await gateway.store.subWallets.serving(key, id)
  check('sub_wallet', found?.budget ?? 0n, found ?? { spent: 0n, held: 0n })
}

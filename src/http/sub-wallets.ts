/** /api/wallet/sub-wallets: named ceilings on the wallet's money. */
import type { JsonObject } from '../core/json-body.ts'
import { greatest, NANO_PER_USD, type Nano, nanoFromNumber, usdNumber } from '../core/money.ts'
import { invalid, refuse } from '../core/refusal.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { SubWallet } from '../store/sub-wallet-port.ts'
import type { Key } from '../tenancy/key.ts'
import { callerOf, managerOf, storable } from './caller.ts'
import { HelperRefusal } from './helper-refusal.ts'
import { readSmallBody } from './read-body.ts'
import { json } from './reply.ts'
import type { Handler, HttpCall } from './route.ts'

const BUDGET_MAX = 10_000n * NANO_PER_USD
const LABEL_MAX = 200

export const createSubWallet: Handler = async (gateway, call) => {
  const key = await makerOf(gateway, call)
  const body = await readSmallBody(gateway, call)
  const made = await gateway.store.createSubWallet({
    id: `sub_${gateway.newCallId().replaceAll('-', '')}`,
    walletId: key.walletId,
    makerId: key.id,
    label: labelOf(body) ?? '',
    budget: budgetOf(body),
  })
  if (made === undefined)
    throw refuse(
      'forbidden',
      'There are as many sub-wallets as the wallet, or a child key, may have; delete one that is not used.',
    )
  return json(shown(made), 201)
}

export const listSubWallets: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call)
  return json({ object: 'list', data: (await gateway.store.subWallets(key)).map(shown) })
}

export const getSubWallet: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call)
  const found = await gateway.store.subWallet(key, call.params.id ?? '')
  if (found === undefined) throw notFound()
  return json(shown(found))
}

/** Answers when no process admits a call on the older ceiling any more. */
export const changeSubWallet: Handler = async (gateway, call) => {
  const key = await makerOf(gateway, call)
  const body = await readSmallBody(gateway, call)
  const label = labelOf(body)
  const changed = await gateway.store.changeSubWallet(key, call.params.id ?? '', {
    ...(label === undefined ? {} : { label }),
    ...(body.budget_usd === undefined ? {} : { budget: budgetOf(body) }),
  })
  if (changed === undefined) throw notFound()
  await gateway.book.untilKnown(changed.at)
  return json(shown(changed.sub))
}

export const deleteSubWallet: Handler = async (gateway, call): Promise<Answer> => {
  const key = await makerOf(gateway, call)
  const id = call.params.id ?? ''
  const deleted = await gateway.store.deleteSubWallet(key, id)
  if (deleted === undefined) throw notFound()
  await gateway.book.untilKnown(deleted.at)
  return json({ id, deleted: true })
}

/** A key that is bound to a sub-wallet could lift its own ceiling: it may only look. */
const makerOf = async (gateway: Gateway, call: HttpCall): Promise<Key> => {
  const key = await managerOf(gateway, call)
  if (key.subWallet !== undefined)
    throw refuse('forbidden', 'The key is bound to a sub-wallet; it may see it but not make or change any.')
  return key
}

const budgetOf = ({ budget_usd }: JsonObject): Nano => {
  const budget = nanoFromNumber(budget_usd)
  if (budget === undefined || budget === 0n || budget > BUDGET_MAX)
    throw new HelperRefusal(
      'budget_out_of_range',
      "'budget_usd' is a number of USD: the most that calls under the sub-wallet may cost in all.",
      { param: 'budget_usd' },
    )
  return budget
}

const labelOf = ({ label }: JsonObject): string | undefined => {
  if (label === undefined) return undefined
  if (typeof label !== 'string' || label.length > LABEL_MAX)
    throw invalid('label', `'label' must be a string of at most ${LABEL_MAX} characters.`)
  return storable(label)
}

const notFound = (): HelperRefusal =>
  new HelperRefusal('unknown_sub_wallet', 'There is no such sub-wallet, or it is not yours.')

const shown = ({ id, label, budget, spent, held, createdAt }: SubWallet) => ({
  id,
  label,
  budget_usd: usdNumber(budget),
  spent_usd: usdNumber(spent),
  held_usd: usdNumber(held),
  remaining_usd: usdNumber(greatest(budget - spent - held, 0n)),
  created_at: new Date(createdAt).toISOString(),
})

/** /api/wallet/sub-wallets: named ceilings on the wallet's money. */
import { greatest, usdNumber } from '../core/money.ts'
import { refuse } from '../core/refusal.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { SubWallet } from '../store/accounts/sub-wallet-port.ts'
import type { Key } from '../tenancy/key.ts'
import { callerOf, managerOf, storable } from './caller.ts'
import { HelperRefusal } from './helper-refusal.ts'
import { json } from './reply.ts'
import type { Handler, HttpCall } from './route.ts'
import type { NewSubWalletBody, SubWalletChange } from './schema/account-bodies.ts'
import type { BodyHandler } from './with-body.ts'

export const createSubWallet: BodyHandler<NewSubWalletBody> = async (gateway, call, body) => {
  const key = await makerOf(gateway, call)
  const { label, budget_usd: budget } = await body()
  const made = await gateway.store.subWallets.createSubWallet({
    id: `sub_${gateway.newCallId().replaceAll('-', '')}`,
    walletId: key.walletId,
    makerId: key.id,
    label: storable(label ?? ''),
    budget,
  })
  if (made === undefined)
    throw refuse(
      'forbidden',
      'The wallet, or this child key, has reached its limit of sub-wallets; delete an unused one.',
    )
  return json(shown(made), 201)
}

export const listSubWallets: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call)
  return json({ object: 'list', data: (await gateway.store.subWallets.list(key)).map(shown) })
}

export const getSubWallet: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call)
  const found = await gateway.store.subWallets.subWallet(key, call.params.id ?? '')
  if (found === undefined) throw notFound()
  return json(shown(found))
}

/** Answers once no process admits a call on the old ceiling. */
export const changeSubWallet: BodyHandler<SubWalletChange> = async (gateway, call, body) => {
  const key = await makerOf(gateway, call)
  const { label, budget_usd: budget } = await body()
  const changed = await gateway.store.subWallets.changeSubWallet(key, call.params.id ?? '', {
    ...(label === undefined ? {} : { label: storable(label) }),
    ...(budget === undefined ? {} : { budget }),
  })
  if (changed === undefined) throw notFound()
  await gateway.book.untilKnown(changed.at)
  return json(shown(changed.sub))
}

export const deleteSubWallet: Handler = async (gateway, call): Promise<Answer> => {
  const key = await makerOf(gateway, call)
  const id = call.params.id ?? ''
  const deleted = await gateway.store.subWallets.deleteSubWallet(key, id)
  if (deleted === undefined) throw notFound()
  await gateway.book.untilKnown(deleted.at)
  return json({ id, deleted: true })
}

/** A key that is bound to a sub-wallet could raise its own ceiling, so it may only look. */
const makerOf = async (gateway: Gateway, call: HttpCall): Promise<Key> => {
  const key = await managerOf(gateway, call)
  if (key.subWallet !== undefined)
    throw refuse('forbidden', 'The key is bound to a sub-wallet; it may see it but not make or change any.')
  return key
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

/** Limits that a wallet's owner sets for all its keys: the rules of its calls, and sub-wallets. */
import type { Nano } from '../core/money.ts'
import { greatest } from '../core/money.ts'
import { refuse } from '../core/refusal.ts'
import { changeRules } from '../gateway/change-rules.ts'
import type { SubWallet } from '../store/accounts/sub-wallet-port.ts'
import { ownRulesBody } from '../tenancy/rules-body.ts'
import { type RulesChange, shownRules, type WalletRules } from '../tenancy/wallet-rules.ts'
import { actorOf, type ConsoleRoute, type Here, type Reply, type Within, within } from './here.ts'
import { walletOf } from './make-key.ts'
import { bodied, isoOf, storable, usdOf } from './read.ts'
import { done } from './schema/shared.ts'
import { rules, subWallet, subWalletBody, subWalletChangeBody, subWallets } from './schema/wallet.ts'

const shown = (now: WalletRules) => {
  const { auto_top_up: _elsewhere, ...others } = shownRules(now)
  return others
}

const getRules = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const known = await here.gateway.store.wallets.walletRules(await walletOf(here))
  return { value: shown(known.rules) }
}

/** Answers once no process admits a call on the old rules. */
const putRules = async (context: Here, change: RulesChange): Promise<Reply> => {
  const here = within(context)
  const now = await changeRules(here.gateway, { walletId: await walletOf(here), change, by: actorOf(here) })
  return { value: shown(now) }
}

const shownSub = ({ id, label, budget, spent, held, createdAt }: SubWallet) => ({
  id,
  label,
  budget_usd: usdOf(budget),
  spent_usd: usdOf(spent),
  held_usd: usdOf(held),
  remaining_usd: usdOf(greatest(budget - spent - held, 0n)),
  created_at: isoOf(createdAt),
})

/** The organisation sees all sub-wallets of its wallet, as the operator's own key does. */
const viewerOf = async (here: Within) => ({ id: '', walletId: await walletOf(here), ancestors: [] })

const noSuchSub = () => refuse('not_found', 'There is no such sub-wallet, or it is not yours.')

const listSubs = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const found = await here.gateway.store.subWallets.list(await viewerOf(here))
  return { value: { data: found.map(shownSub) } }
}

const createSub = async (
  context: Here,
  { label, budget_usd: budget }: { label: string; budget_usd: Nano },
): Promise<Reply> => {
  const here = within(context)
  const { store, newCallId } = here.gateway
  const made = await store.subWallets.createSubWallet(
    {
      id: `sub_${newCallId().replaceAll('-', '')}`,
      walletId: await walletOf(here),
      label: storable(label),
      budget,
    },
    actorOf(here),
  )
  if (made === undefined)
    throw refuse('forbidden', 'The wallet has reached its limit of sub-wallets; delete an unused one.')
  return { value: shownSub(made), status: 201 }
}

type SubChange = { readonly label?: string | undefined; readonly budget_usd?: Nano | undefined }

/** Answers once no process admits a call on the old ceiling. */
const changeSub = async (context: Here, { label, budget_usd: budget }: SubChange): Promise<Reply> => {
  const here = within(context)
  const { gateway } = here
  const changed = await gateway.store.subWallets.changeSubWallet(
    await viewerOf(here),
    here.request.params.id ?? '',
    {
      ...(label === undefined ? {} : { label: storable(label) }),
      ...(budget === undefined ? {} : { budget }),
    },
    actorOf(here),
  )
  if (changed === undefined) throw noSuchSub()
  await gateway.book.untilKnown(changed.at)
  return { value: shownSub(changed.sub) }
}

const deleteSub = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const { gateway } = here
  const id = here.request.params.id ?? ''
  const deleted = await gateway.store.subWallets.deleteSubWallet(await viewerOf(here), id, actorOf(here))
  if (deleted === undefined) throw noSuchSub()
  await gateway.book.untilKnown(deleted.at)
  return { value: { done: true } }
}

export const limitRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/rules',
    summary: 'What calls of all keys may cost, and which models they may use.',
    audience: ['wallet_read'],
    answer: rules,
    handler: getRules,
  },
  bodied({
    method: 'PUT',
    path: '/rules',
    summary: 'Changes the rules; null removes one. Answers once they apply on every process.',
    audience: ['rules'],
    body: ownRulesBody,
    answer: rules,
    handler: putRules,
  }),
  {
    method: 'GET',
    path: '/sub-wallets',
    summary: 'The named ceilings on the money of the wallet.',
    audience: ['wallet_read'],
    answer: subWallets,
    handler: listSubs,
  },
  bodied({
    method: 'POST',
    path: '/sub-wallets',
    summary: 'Makes a sub-wallet.',
    audience: ['rules'],
    body: subWalletBody,
    answer: subWallet,
    statuses: [201],
    handler: createSub,
  }),
  bodied({
    method: 'PUT',
    path: '/sub-wallets/:id',
    summary: 'Changes the name or the ceiling of a sub-wallet; answers once it applies on every process.',
    audience: ['rules'],
    body: subWalletChangeBody,
    answer: subWallet,
    handler: changeSub,
  }),
  {
    method: 'DELETE',
    path: '/sub-wallets/:id',
    summary:
      'Deletes a sub-wallet: nothing can be spent under it any more, not even by a key that is bound to it.',
    audience: ['rules'],
    answer: done,
    handler: deleteSub,
  },
]

/** Acts on sub-wallets: named ceilings on a wallet's money, which calls name and keys are bound to. */

import { z } from 'zod'
import { amount, line, namedObject } from '../core/body.ts'
import { greatest, NANO_PER_USD } from '../core/money.ts'
import { must, refuse } from '../core/refusal.ts'
import { storable } from '../core/storable.ts'
import { newIdOf } from '../core/time.ts'
import type { SubViewer, SubWallet } from '../store/accounts/sub-wallet-port.ts'
import { type Acting, act } from './act.ts'
import { payer, walletIn } from './org-of.ts'
import { isoOf, name } from './read.ts'
import { time, usd } from './shown-key.ts'

const BUDGET_MAX = 10_000n * NANO_PER_USD
const LABEL_MAX = 200

const budget = amount('must be a number of USD')
  .refine((nano) => nano > 0n && nano <= BUDGET_MAX, 'must be above 0 and at most 10000')
  .describe('USD; above 0 and at most 10000')
const label = line(0, LABEL_MAX, `must be a string of at most ${LABEL_MAX} characters`).optional()
const strangers = 'is not of a sub-wallet; those are label, budget_usd'

const subWalletShown = namedObject('SubWallet', {
  id: z.string(),
  label: z.string(),
  budget_usd: usd,
  spent_usd: usd,
  held_usd: usd.describe('By open calls'),
  remaining_usd: usd,
  created_at: time,
})

const shown = ({ id, label: called, budget: most, spent, held, createdAt }: SubWallet) => ({
  id,
  label: called,
  budget_usd: most,
  spent_usd: spent,
  held_usd: held,
  remaining_usd: greatest(most - spent - held, 0n),
  created_at: isoOf(createdAt),
})

type Named = { readonly organisation?: string | undefined; readonly wallet?: string | undefined }

/** A key sees and governs what is its own; others govern all of the wallet. */
const viewerOf = async (acting: Acting, named: Named): Promise<SubViewer> => {
  const { reach } = acting.who
  return reach.of === 'key' ? reach.key : { walletId: await walletIn(acting, named) }
}

const noSuch = () => refuse('not_found', 'There is no such sub-wallet, or it is not yours.')

/** A key that the sub-wallet serves learns who may change it; for others it does not exist. */
const notGoverned = async ({ control, who: { reach } }: Acting, id: string) =>
  reach.of !== 'key' || (await control.store.subWallets.serving(reach.key, id)) === undefined
    ? noSuch()
    : refuse('forbidden', 'The sub-wallet was made by a key above this one; only that key may change it.')

export const subWalletList = act({
  name: 'sub_wallet.list',
  summary: 'The sub-wallets of the wallet, newest first; a key sees its own and those that serve it.',
  reads: ['sub_wallets_read'],
  input: payer,
  shows: namedObject('SubWalletList', { object: z.literal('list'), data: z.array(subWalletShown) }),
  does: async (acting, named) => {
    const found = await acting.control.store.subWallets.list(await viewerOf(acting, named))
    return { object: 'list' as const, data: found.map(shown) }
  },
})

export const subWalletGet = act({
  name: 'sub_wallet.get',
  summary: 'One sub-wallet.',
  reads: ['sub_wallets_read'],
  input: { ...payer, sub_wallet: name },
  shows: subWalletShown,
  does: async (acting, { sub_wallet: id, ...named }) => {
    const found = await acting.control.store.subWallets.subWallet(await viewerOf(acting, named), id)
    return shown(must(found ?? noSuch()))
  },
})

export const subWalletCreate = act({
  name: 'sub_wallet.create',
  summary: 'Makes a sub-wallet: a ceiling on the money of the wallet, named by calls in X-Sub-Wallet.',
  changes: ['sub_wallets'],
  input: { ...payer, budget_usd: budget, label },
  strangers,
  shows: subWalletShown,
  does: async (acting, { budget_usd: most, label: called = '', ...named }) => {
    const { control, who } = acting
    const { walletId, id: makerId } = await viewerOf(acting, named)
    const made = await control.store.subWallets.createSubWallet(
      {
        id: newIdOf('sub'),
        walletId,
        ...(makerId === undefined ? {} : { makerId }),
        label: storable(called),
        budget: most,
      },
      who.actor,
    )
    const full = 'The wallet, or this child key, has reached its limit of sub-wallets; delete an unused one.'
    return shown(must(made ?? refuse('forbidden', full)))
  },
})

export const subWalletChange = act({
  name: 'sub_wallet.change',
  summary: 'Changes the budget or the label of a sub-wallet; answers once that applies on every process.',
  changes: ['sub_wallets'],
  input: { ...payer, sub_wallet: name, budget_usd: budget.optional(), label },
  strangers,
  shows: subWalletShown,
  does: async (acting, { sub_wallet: id, budget_usd: most, label: called, ...named }) => {
    const { store, book } = acting.control
    const changed = await store.subWallets.changeSubWallet(
      await viewerOf(acting, named),
      id,
      {
        ...(called === undefined ? {} : { label: storable(called) }),
        ...(most === undefined ? {} : { budget: most }),
      },
      acting.who.actor,
    )
    if (changed === undefined) throw await notGoverned(acting, id)
    await book.untilKnown(changed.at)
    return shown(changed.sub)
  },
})

export const subWalletDelete = act({
  name: 'sub_wallet.delete',
  summary:
    'Deletes a sub-wallet: nothing can be spent under it any more, not even by a key that is bound to it.',
  changes: ['sub_wallets'],
  input: { ...payer, sub_wallet: name },
  shows: namedObject('Deleted', { id: z.string(), deleted: z.literal(true) }),
  does: async (acting, { sub_wallet: id, ...named }) => {
    const { store, book } = acting.control
    const viewer = await viewerOf(acting, named)
    const deleted = await store.subWallets.deleteSubWallet(viewer, id, acting.who.actor)
    if (deleted === undefined) throw await notGoverned(acting, id)
    await book.untilKnown(deleted.at)
    return { id, deleted: true as const }
  },
})

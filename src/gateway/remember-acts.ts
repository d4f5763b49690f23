/**
 * What a process made lately for people: organisations, keys, sub-wallets, and money that came in or was moved. When a
 * standby that lagged takes over, they are done again, word for word. Each has an id or a reference of its own, so nothing is
 * made twice. Settings are not among them: another process may have set others since. Those with a version are put back by
 * that (went-back.ts).
 */

import type { Act } from '../book/went-back.ts'
import type { Lately } from '../core/lately.ts'
import type { Clock } from '../core/time.ts'
import type { Store } from '../store/port.ts'
import type { KeyId } from '../tenancy/key.ts'

type Note<Args extends readonly unknown[]> = {
  readonly what: (...args: Args) => string
  readonly keys?: (...args: Args) => readonly KeyId[]
  /** Whether the ledger has it. Without it, what doing it again says. */
  readonly has?: (...args: Args) => Promise<boolean>
}

/** The store, whose acts are remembered from here on once they are acknowledged. */
export const remembering = (store: Store, acts: Lately<Act>, clock: Clock): Store => {
  const noted =
    <Args extends readonly unknown[], Made>(act: (...args: Args) => Promise<Made>, note: Note<Args>) =>
    async (...args: Args): Promise<Made> => {
      const made = await act(...args)
      const again = async (): Promise<boolean> => {
        if (await note.has?.(...args)) return false
        const outcome: unknown = await act(...args)
        if (outcome === undefined || outcome === 'unknown') throw new Error('it is refused now')
        return outcome !== 'replayed'
      }
      const keys = note.keys?.(...args) ?? []
      // What was refused made nothing.
      if (made !== undefined) acts.add({ what: note.what(...args), keys, again }, clock.monotonicMs())
      return made
    }
  const hasKey = async (id: KeyId | undefined) => id !== undefined && (await store.keys.key(id)) !== undefined
  const ofKey = {
    what: ({ id }: { readonly id: KeyId }) => `key ${id}`,
    keys: ({ id }: { readonly id: KeyId }) => [id],
    has: ({ id }: { readonly id: KeyId }) => hasKey(id),
  }
  const { keys, wallets, subWallets, ledger, funding } = store
  return {
    ...store,
    keys: {
      ...keys,
      createKey: noted(keys.createKey, ofKey),
      createChild: noted(keys.createChild, ofKey),
      createKeys: noted(keys.createKeys, {
        what: (list) => `${list.length} keys`,
        keys: (list) => list.map(({ key }) => key.id),
        has: ([first]) => hasKey(first?.key.id),
      }),
    },
    wallets: {
      ...wallets,
      createWallet: noted(wallets.createWallet, {
        what: ({ id }) => `wallet ${id}`,
        has: async ({ id }) => (await wallets.wallet(id)) !== undefined,
      }),
    },
    subWallets: {
      ...subWallets,
      createSubWallet: noted(subWallets.createSubWallet, {
        what: ({ id }) => `sub-wallet ${id}`,
        has: async ({ id, walletId }) => (await subWallets.subWallet({ walletId }, id)) !== undefined,
      }),
    },
    ledger: {
      ...ledger,
      post: noted(ledger.post, { what: ({ kind, ref }) => `${kind} ${ref}` }),
    },
    funding: {
      ...funding,
      openCheckout: noted(funding.openCheckout, { what: ({ id }) => `purchase ${id}` }),
      creditPayment: noted(funding.creditPayment, { what: ({ payment }) => `payment ${payment}` }),
    },
  }
}

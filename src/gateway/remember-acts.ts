/**
 * What a process made lately for people: organisations, keys, sub-wallets, teams, and money that came in or was moved. When a
 * standby that lagged takes over, they are done again, word for word. Each has an id or a reference of its own, so nothing is
 * made twice. Settings are not among them, but for budgets of tags, which have a version each: another process may have set others
 * since. Other settings with a version are put back by that (went-back.ts).
 */

import type { Act } from '../book/went-back.ts'
import type { Lately } from '../core/lately.ts'
import type { Clock } from '../core/time.ts'
import type { TagBudgetStore, TagValue } from '../store/accounts/tag-budget-port.ts'
import type { Store } from '../store/port.ts'
import type { KeyId } from '../tenancy/key.ts'

type Note<Args extends readonly unknown[], Made> = {
  readonly what: (...args: Args) => string
  readonly keys?: (...args: Args) => readonly KeyId[]
  /** Whether the ledger has it. Without it, what doing it again says. */
  readonly has?: (...args: Args) => Promise<boolean>
  /** Does it again, where that is not the act itself; `replayed` if the ledger has it. */
  readonly again?: (made: Made, ...args: Args) => Promise<unknown>
}

type Setting = TagBudgetStore['putTagBudget']
type Ending = TagBudgetStore['removeTagBudget']

const budget = ({ tag, value }: TagValue): string => `budget ${tag}=${value === '' ? '*' : value}`

/** A budget is set again unless the ledger has it, or a later one. */
const settingOf = (budgets: TagBudgetStore): Note<Parameters<Setting>, Awaited<ReturnType<Setting>>> => ({
  what: budget,
  again: async (made, its, by) =>
    made === 'too_many' || (await budgets.setIn(its)) >= made.version
      ? 'replayed'
      : budgets.putTagBudget({ ...its, version: made.version }, by),
})

const endOf = (budgets: TagBudgetStore): Note<Parameters<Ending>, Awaited<ReturnType<Ending>>> => ({
  what: (its) => `end of ${budget(its)}`,
  again: async (made, its, by) => {
    const before = await budgets.setIn(its)
    const isGone = made === undefined || before === 0 || before > made.version
    return isGone ? 'replayed' : budgets.removeTagBudget(its, by)
  },
})

/** The store, whose acts are remembered from here on once they are acknowledged. */
export const remembering = (store: Store, acts: Lately<Act>, clock: Clock): Store => {
  const noted =
    <Args extends readonly unknown[], Made>(act: (...args: Args) => Promise<Made>, note: Note<Args, Made>) =>
    async (...args: Args): Promise<Made> => {
      const made = await act(...args)
      const again = async (): Promise<boolean> => {
        if (await note.has?.(...args)) return false
        const outcome = await (note.again?.(made, ...args) ?? act(...args))
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
  const { keys, wallets, subWallets, teams, tagBudgets, ledger, funding } = store
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
    teams: {
      ...teams,
      createTeam: noted(teams.createTeam, {
        what: ({ id }) => `team ${id}`,
        has: async ({ id, orgId }) => (await teams.teams({ orgId, id })).length > 0,
      }),
    },
    tagBudgets: {
      ...tagBudgets,
      putTagBudget: noted(tagBudgets.putTagBudget, settingOf(tagBudgets)),
      removeTagBudget: noted(tagBudgets.removeTagBudget, endOf(tagBudgets)),
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

/** The organisation, or the wallet, that an act is about: the only one in reach, or the one that is named. */
import { invalid, must, refuse } from '../core/refusal.ts'
import type { Wallet } from '../store/accounts/tenancy-port.ts'
import type { Acting, Control } from './act.ts'
import { name } from './read.ts'
import { reaches } from './who.ts'

/** Members that name a wallet: its organisation, and which one if that has several. */
export const payer = { organisation: name.optional(), wallet: name.optional() }

/** The only organisation in reach, if there is one. */
export const onlyOrg = ({ who: { reach } }: Acting): string | undefined => {
  if (reach.of === 'key') return reach.key.orgId
  if (reach.of === 'organisation') return reach.orgId
  return reach.orgs?.length === 1 ? reach.orgs[0] : undefined
}

export const orgOf = (acting: Acting, named: string | undefined): string => {
  const orgId = named ?? onlyOrg(acting)
  if (orgId === undefined)
    throw invalid('organisation', "'organisation' is required: the id of one in reach.")
  if (!reaches(acting.who, orgId))
    throw refuse('not_found', 'There is no such organisation, or it is not yours.')
  return orgId
}

/** The wallet that pays for the organisation's keys: its first one. */
export const walletOf = async ({ store }: Pick<Control, 'store'>, orgId: string): Promise<string> => {
  const [wallet] = await store.reports.walletsOf(orgId)
  return must(wallet ?? refuse('not_found', 'The organisation has no wallet.'))
}

const noSuchWallet = () => refuse('not_found', 'There is no such wallet, or it is not yours.')

type Named = { readonly organisation?: string | undefined; readonly wallet?: string | undefined }

/** The id of a wallet in reach: that of the key, the one that is named, or the first one of the organisation. */
export const walletIn = async (acting: Acting, { organisation, wallet }: Named): Promise<string> => {
  const { control, who } = acting
  if (who.reach.of === 'key') return who.reach.key.walletId
  if (wallet === undefined) return walletOf(control, orgOf(acting, organisation))
  const found = await control.store.wallets.wallet(wallet)
  if (found === undefined || (organisation !== undefined && organisation !== found.orgId))
    throw noSuchWallet()
  orgOf(acting, found.orgId)
  return found.id
}

/** The same wallet itself. */
export const walletNamed = async (acting: Acting, named: Named): Promise<Wallet> =>
  must((await acting.control.store.wallets.wallet(await walletIn(acting, named))) ?? noSuchWallet())

/** Whether a wallet is in reach: for a key its own alone. */
export const reachesWallet = async ({ control, who }: Acting, id: string): Promise<boolean> => {
  if (who.reach.of === 'key') return who.reach.key.walletId === id
  const found = await control.store.wallets.wallet(id)
  return found !== undefined && reaches(who, found.orgId)
}

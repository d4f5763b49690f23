/** Who acts in the console, and with what: the person who is signed in, in the organisation that the session looks at. */
import type { Acting } from '../control/act.ts'
import { walletOf } from '../control/org-of.ts'
import { whoIsOperator, whoIsPerson } from '../control/who.ts'
import { type Here, personOf, type Within, within } from './here.ts'

const controlHere = ({ gateway, settings, request }: Here) => ({
  ...gateway,
  origin: settings.origin ?? request.origin,
  // Payers return to the page that they left.
  returnTo: {
    origin: settings.origin ?? request.origin,
    back: `${settings.origin ?? request.origin}/console/wallet`,
  },
})

export const actingOf = (here: Here): Acting => ({
  control: controlHere(here),
  who: whoIsPerson({ ...within(here).session, address: here.request.address }),
})

/** An operator at the pages of the house, whichever organisation the session looks at. */
export const operatingOf = (here: Here): Acting => ({
  control: controlHere(here),
  who: whoIsOperator({ ...personOf(here), address: here.request.address }),
})

/** The wallet that pays for the organisation's keys. */
export const walletHere = (here: Within): Promise<string> => walletOf(here.gateway, here.session.orgId)

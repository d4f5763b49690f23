/** Acts on organisations: made with an owner or under the caller's id, listed and shown with their money, suspended. */

import { z } from 'zod'
import { line, namedObject, readable, text } from '../core/body.ts'
import { invalid, must, refuse } from '../core/refusal.ts'
import { storable } from '../core/storable.ts'
import { DAY_MS, newIdOf } from '../core/time.ts'
import type { AccountLine } from '../store/reports/report-port.ts'
import { type Acting, act } from './act.ts'
import { creditLine, lineShown } from './money/invoices.ts'
import { changeRules } from './money/rules.ts'
import { orgOf, payer, walletIn, walletNamed } from './org-of.ts'
import { toBeAdded, welcome } from './people/adding.ts'
import { linkGiven } from './people/mail.ts'
import { checkAdds } from './people/members.ts'
import { count, email, name } from './read.ts'
import { usd } from './shown-key.ts'
import { orgsOf } from './who.ts'

const ID = /^org_[\w-]{1,60}$/
const NAME_MAX = 200
const named = `is required: whose it is, in at most ${NAME_MAX} characters`

const shape = {
  id: z.string(),
  name: z.string(),
  wallet: z.string(),
  balance_usd: usd,
  held_usd: usd.describe('By open calls'),
  available_usd: usd,
  spent_30d_usd: usd,
  members: z.int(),
  keys: z.int(),
  suspended: z.string().nullable().describe('Why it is'),
}
const organisationShown = namedObject('Organisation', {
  ...shape,
  credit_limit_usd: usd.nullable(),
  credit_net_days: z.int().nullable().describe('To pay an invoice of the credit line'),
})

export const withCredit = { ...shape, credit: creditLine.nullable().describe('null without a credit line') }
const organisationDetail = namedObject('OrganisationDetail', withCredit)

const shown = (line: AccountLine) => ({
  id: line.orgId,
  name: line.name,
  wallet: line.walletId,
  balance_usd: line.balance,
  held_usd: line.held,
  available_usd: line.balance - line.held,
  spent_30d_usd: line.spent,
  members: line.members,
  keys: line.keys,
  suspended: line.suspended ?? null,
})

/** Thirty days with today. */
const monthFrom = ({ control: { clock } }: Acting) => (Math.trunc(clock.now() / DAY_MS) - 29) * DAY_MS

/** The organisation as it is now, by its wallet. */
export const showOrganisation = async (acting: Acting, walletId: string) => {
  const { reports, credit } = acting.control.store
  const [[found], line] = await Promise.all([
    reports.accounts({ orgs: 'all', walletId, from: monthFrom(acting), most: 1 }),
    credit.creditLine(walletId),
  ])
  return {
    ...shown(must(found ?? refuse('not_found', 'There is no such wallet, or it is not yours.'))),
    credit: line === undefined ? null : lineShown(line),
  }
}

export const organisationPut = act({
  name: 'organisation.put',
  summary: 'Makes the organisation of this id, with an empty wallet, or gives it this name.',
  changes: ['accounts'],
  input: {
    organisation: z
      .string()
      .regex(ID, 'must begin with org_, and have at most 60 letters, digits, _ and - after that'),
    name: readable(z.string(named).max(NAME_MAX, named)).refine((it) => it.trim() !== '', named),
  },
  shows: organisationDetail,
  does: async (acting, { organisation, name: called }) => {
    const { store } = acting.control
    const { actor } = acting.who
    const orgId = orgOf(acting, organisation)
    const [known] = await store.reports.walletsOf(orgId)
    if (known !== undefined) {
      if ((await store.wallets.wallet(known))?.name === storable(called)) acting.unchanged?.()
      else await store.wallets.renameWallet(known, storable(called), actor)
      return showOrganisation(acting, known)
    }
    const id = `wal_${orgId.slice(4)}`
    const made = await store.wallets.createWallet({ id, orgId, name: storable(called) }, actor)
    if (made.orgId !== orgId)
      throw invalid('organisation', `The wallet '${id}' is that of another organisation; choose another id.`)
    return showOrganisation(acting, id)
  },
})

export const organisationCreate = act({
  name: 'organisation.create',
  summary: 'Makes an organisation with an empty wallet and invites its owner.',
  changes: ['accounts'],
  input: { name: line(1, 100, 'must be a name'), owner_email: email },
  shows: namedObject('OrganisationMade', { id: z.string(), wallet: z.string(), ...linkGiven }),
  does: async (acting, { name: called, owner_email: address }) => {
    const { control, who } = acting
    checkAdds(acting, 'owner')
    const [id, wallet] = [orgOf(acting, newIdOf('org')), newIdOf('wal')]
    const added = await toBeAdded(acting, address)
    await control.store.wallets.createWallet({ id: wallet, orgId: id, name: storable(called) }, who.actor)
    await control.store.members.put({ orgId: id, personId: added.person.id, role: 'owner' }, who.actor)
    return { id, wallet, ...(await welcome(acting, added, 'Your account at Turnpike')) }
  },
})

export const organisationList = act({
  name: 'organisation.list',
  summary:
    'Organisations by name; one that has several wallets is there for each. `search` also looks for members.',
  reads: ['accounts', 'credit'],
  input: {
    search: z.string().optional().describe('Part of a name, an id, or the e-mail address of a member'),
    limit: count(1, 1_000),
    after: name.optional().describe('The `wallet` of the last one before'),
  },
  shows: namedObject('OrganisationList', {
    object: z.literal('list'),
    data: z.array(organisationShown),
    has_more: z.boolean(),
  }),
  does: async (acting, { search, limit = 100, after }) => {
    const found = await acting.control.store.reports.accounts({
      orgs: orgsOf(acting.who),
      from: monthFrom(acting),
      ...(search === undefined || search === '' ? {} : { search }),
      ...(after === undefined ? {} : { after }),
      most: limit + 1,
    })
    return {
      object: 'list' as const,
      data: found.slice(0, limit).map((line) => ({
        ...shown(line),
        credit_limit_usd: line.creditLimit ?? null,
        credit_net_days: line.netDays ?? null,
      })),
      has_more: found.length > limit,
    }
  },
})

export const organisationGet = act({
  name: 'organisation.get',
  summary: 'One organisation: its wallet, what it has and what open calls hold, and its credit line.',
  reads: ['accounts', 'credit'],
  input: payer,
  shows: organisationDetail,
  does: async (acting, of) => showOrganisation(acting, await walletIn(acting, of)),
})

export const organisationSuspend = act({
  name: 'organisation.suspend',
  summary: 'Suspends an organisation, or lifts that with null; answers once every process knows.',
  changes: ['accounts'],
  input: {
    ...payer,
    reason: text(1, 200, 'must say why, or be null').nullable().describe('Callers and members read it'),
  },
  shows: organisationDetail,
  does: async (acting, { reason, ...of }) => {
    const { control, who } = acting
    const { id: wallet, orgId } = await walletNamed(acting, of)
    const change = { suspended: reason === null ? null : storable(reason) }
    for (const walletId of await control.store.reports.walletsOf(orgId))
      await changeRules(control, { walletId, change, by: who.actor })
    return showOrganisation(acting, wallet)
  },
})

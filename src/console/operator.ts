/** Accounts, for operators: found, created, credited, suspended. */

import type { Nano } from '../core/money.ts'
import { refuse } from '../core/refusal.ts'
import { DAY_MS } from '../core/time.ts'
import { changeRules } from '../gateway/change-rules.ts'
import { newId } from '../gateway/new-token.ts'
import type { Wallet } from '../store/accounts/tenancy-port.ts'
import { Overdrawn, ReplayConflict, TooLarge } from '../store/faults.ts'
import { toBeAdded, welcome } from './adding.ts'
import { actorOf, type ConsoleRoute, type Here, type Reply } from './here.ts'
import { INVITATION_MS } from './links.ts'
import { bodied, maybeUsd, storable, usdOf } from './read.ts'
import {
  accountMade,
  accounts,
  creditBody,
  creditLineBody,
  newAccountBody,
  suspendBody,
} from './schema/operator.ts'
import { most } from './schema/reports.ts'
import { done } from './schema/shared.ts'

const ACCOUNTS = 50

const listAccounts = async ({ gateway, request, console: opened }: Here): Promise<Reply> => {
  opened.keepRolledUp()
  const count = most(request.query.get('limit'), ACCOUNTS, 200)
  const [search, after] = [request.query.get('search'), request.query.get('after')]
  const tomorrow = (Math.trunc(gateway.clock.now() / DAY_MS) + 1) * DAY_MS
  const found = await gateway.store.reports.accounts({
    from: tomorrow - 30 * DAY_MS,
    ...(search === undefined || search === '' ? {} : { search }),
    ...(after === undefined ? {} : { after }),
    most: count + 1,
  })
  return {
    value: {
      data: found.slice(0, count).map((line) => ({
        org_id: line.orgId,
        wallet_id: line.walletId,
        name: line.name,
        balance_usd: usdOf(line.balance),
        held_usd: usdOf(line.held),
        spent_30d_usd: usdOf(line.spent),
        credit_limit_usd: maybeUsd(line.creditLimit),
        credit_net_days: line.netDays ?? null,
        members: line.members,
        keys: line.keys,
        suspended: line.suspended ?? null,
      })),
      has_more: found.length > count,
    },
  }
}

/** The wallet in the address; the act concerns its organisation. */
const walletHere = async ({ gateway, request }: Here): Promise<Wallet> => {
  const found = await gateway.store.wallets.wallet(request.params.id ?? '')
  if (found === undefined) throw refuse('not_found', 'There is no such wallet.')
  return found
}

/** Suspends the organisation, or lifts that with null; answers once every process knows. */
const suspendAccount = async (here: Here, { reason }: { reason: string | null }): Promise<Reply> => {
  const { store } = here.gateway
  const { orgId } = await walletHere(here)
  const change = { suspended: reason === null ? null : storable(reason) }
  for (const walletId of await store.reports.walletsOf(orgId))
    await changeRules(here.gateway, { walletId, change, by: actorOf(here) })
  return { value: { done: true } }
}

const grantLine = async (
  here: Here,
  { limit_usd: limit, net_days: netDays }: { limit_usd: Nano; net_days: number },
): Promise<Reply> => {
  const { id: walletId } = await walletHere(here)
  await here.gateway.store.credit.grantCredit({ walletId, limit, netDays }, actorOf(here))
  return { value: { done: true } }
}

const createAccount = async (here: Here, form: { name: string; owner_email: string }): Promise<Reply> => {
  const { store } = here.gateway
  const added = await toBeAdded(here, form.owner_email)
  const [orgId, walletId] = [newId('org'), newId('wal')]
  await store.wallets.createWallet({ id: walletId, orgId, name: storable(form.name) }, actorOf(here))
  await store.members.put({ orgId, personId: added.person.id, role: 'owner' }, actorOf(here))
  const letter = { lifeMs: INVITATION_MS, subject: 'Your account at Turnpike' }
  const given = await welcome(here, added, letter)
  return { value: { org_id: orgId, wallet_id: walletId, ...given }, status: 201 }
}

type Credit = { wallet_id: string; amount_usd: Nano; note: string; ref: string }

const creditAccount = async (
  here: Here,
  { wallet_id: id, amount_usd: amount, note, ref }: Credit,
): Promise<Reply> => {
  const { store } = here.gateway
  const found = await store.wallets.wallet(id)
  if (found === undefined) throw refuse('not_found', 'There is no such wallet.')
  const event = {
    actor: actorOf(here),
    orgId: found.orgId,
    what: 'wallet.credited',
    subject: id,
    before: { balance_usd: usdOf(found.balance) },
    after: { amount_usd: usdOf(amount), note: storable(note) },
  }
  const transfer = {
    kind: 'grant',
    ref: `console:${ref}`,
    debit: 'promo',
    credit: id,
    amount,
    note: storable(note),
  } as const
  try {
    await store.ledger.post(transfer, event)
  } catch (error) {
    if (error instanceof ReplayConflict || error instanceof Overdrawn || error instanceof TooLarge)
      throw refuse('forbidden', error.message)
    throw error
  }
  return { value: { done: true } }
}

export const operatorRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/operator/accounts',
    summary: 'Organisations with their wallets, by name; `search` also looks for members.',
    audience: 'operator',
    query: ['search', 'after', 'limit'],
    answer: accounts,
    handler: listAccounts,
  },
  bodied({
    method: 'POST',
    path: '/operator/accounts',
    summary: 'Makes an organisation with an empty wallet and invites its owner.',
    audience: 'operator',
    fresh: true,
    body: newAccountBody,
    answer: accountMade,
    statuses: [201],
    handler: createAccount,
  }),
  bodied({
    method: 'POST',
    path: '/operator/credit',
    summary: 'Gives credit to a wallet, at the cost of the house; once for each `ref`.',
    audience: 'operator',
    fresh: true,
    body: creditBody,
    answer: done,
    handler: creditAccount,
  }),
  bodied({
    method: 'PUT',
    path: '/operator/accounts/:id/suspended',
    summary:
      'Suspends the organisation of a wallet, or lifts that with null; answers once every process knows.',
    audience: 'operator',
    fresh: true,
    body: suspendBody,
    answer: done,
    handler: suspendAccount,
  }),
  bodied({
    method: 'PUT',
    path: '/operator/accounts/:id/credit-line',
    summary: 'Opens or changes the credit line of a wallet; 0 withdraws it.',
    audience: 'operator',
    fresh: true,
    body: creditLineBody,
    answer: done,
    handler: grantLine,
  }),
]

/** Rows of the control plane for callers with a key: each is an address and the act that it performs. */
import * as acts from '../../control/acts.ts'
import { whoIsKey } from '../../control/who.ts'
import { monthOf } from '../../core/time.ts'
import { takeTurn } from '../../gateway/enter/key-turn.ts'
import { takeReportTurn } from '../../gateway/enter/report-turn.ts'
import { anyCallerOf } from '../request/caller.ts'
import { originOfCall } from '../request/origin.ts'
import { at, type Route } from '../route/route.ts'
import { type ActRow, actRoute } from './act-route.ts'

const byKey = actRoute({
  auth: 'bearer',
  money: 'number',
  asking: async (gateway, call) => {
    const key = await anyCallerOf(gateway, call)
    return {
      who: whoIsKey(key, monthOf(gateway.clock.now()), originOfCall(gateway, call)),
      turn: (counts) =>
        counts === 'report' ? takeReportTurn(gateway, key.id) : takeTurn(gateway, key, call.trace),
    }
  },
})

const keys = '/v1/key/wholesale'
const budgets = '/v1/budgets'
const params = { token: 'key' }

/** The specification’s address takes no `limit`. */
const usageFilters = [
  'key',
  'tenant',
  'tenants',
  'team',
  'model',
  'vendor',
  'status',
  'tag',
  'sort',
  'top',
] as const

const callFilters = Object.keys(acts.callList.input).filter((name) => name !== 'organisation')

const ownRows: readonly ActRow[] = [
  {
    ...at('GET /v1/usage'),
    summary:
      'What this key and all below it used: totals and rows; with `own=true` only its own calls. `from` is included and `to` is not; days are in UTC.',
    act: acts.usageReport,
    query: ['from', 'to', 'group_by', 'own', ...usageFilters],
    data: 'Usage',
    counts: 'report',
  },
  {
    ...at('GET /v1/calls'),
    summary:
      'The calls of this key and of all below it, newest first: charged, refused and failed ones; with `own=true` only its own.',
    act: acts.callList,
    query: callFilters,
    counts: 'report',
  },
  {
    ...at('GET /v1/calls/:call'),
    summary: 'One call of this key or of one below it, by its request id.',
    act: acts.callGet,
    counts: 'report',
  },
  {
    ...at('GET /v1/receipts/:id'),
    summary: 'The receipt of a call by its request id, for its key or one above it; kept 90 days.',
    act: acts.callReceipt,
    params: { id: 'call' },
  },
  {
    method: 'POST',
    path: keys,
    summary:
      'Makes a key below the calling one, which needs the right to (`can_manage`); its value is shown once.',
    act: acts.keyCreate,
    data: 'NewKeyAnswer',
    headers: { 'Idempotency-Key': 'idempotency_key' },
    statuses: [201],
    bodyName: 'NewKey',
    counts: 'request',
  },
  {
    method: 'GET',
    path: keys,
    summary: 'The keys below the calling one, newest first.',
    act: acts.keyList,
  },
  {
    method: 'GET',
    path: `${keys}/:token`,
    summary: 'One key: `me`, or one below by its id or its token; deleted keys too.',
    act: acts.keyGet,
    params,
    data: 'KeyAnswer',
  },
  {
    method: 'DELETE',
    path: `${keys}/:token`,
    summary:
      'Deletes a key below the calling one, and with `with_children=true` all below that; what they used stays in the reports.',
    act: acts.keyDelete,
    params,
  },
  {
    method: 'PUT',
    path: `${keys}/:token/limits`,
    summary: 'Changes the limits of a key: `me`, or one below by its id or its token.',
    act: acts.keyChange,
    params,
    headers: { 'If-Match': 'if_version' },
    data: 'KeyChangeAnswer',
    bodyName: 'Limits',
  },
  {
    method: 'GET',
    path: `${keys}/:token/usage`,
    summary: 'Limits and spending of a key: `me`, or one below by its id or its token; deleted keys too.',
    act: acts.keyUsage,
    params,
    data: 'KeyUsageAnswer',
  },
  { method: 'GET', path: budgets, act: acts.budgetList, counts: 'request' },
  { method: 'GET', path: `${budgets}/:tag`, act: acts.budgetGet, counts: 'request' },
  { method: 'PUT', path: `${budgets}/:tag`, act: acts.budgetPut, bodyName: 'NewBudget', counts: 'request' },
  { method: 'DELETE', path: `${budgets}/:tag`, act: acts.budgetDelete, counts: 'request' },
]

const ownKeyRows: readonly ActRow[] = [
  { method: 'GET', path: '/v1/own-keys', act: acts.ownKeyList },
  { method: 'POST', path: '/v1/own-keys', act: acts.ownKeyAdd, statuses: [201], bodyName: 'NewOwnKey' },
  { method: 'PUT', path: '/v1/own-keys/:own_key', act: acts.ownKeyChange, bodyName: 'OwnKeyChange' },
  { method: 'POST', path: '/v1/own-keys/:own_key/try', act: acts.ownKeyTry },
  { method: 'DELETE', path: '/v1/own-keys/:own_key', act: acts.ownKeyRemove },
]

const alertRows: readonly ActRow[] = [
  { method: 'GET', path: '/v1/alerts', act: acts.alertList },
  { method: 'POST', path: '/v1/alerts', act: acts.alertCreate, statuses: [201], bodyName: 'NewAlert' },
  { method: 'PUT', path: '/v1/alerts/:alert', act: acts.alertChange, bodyName: 'AlertChange' },
  { method: 'DELETE', path: '/v1/alerts/:alert', act: acts.alertDelete },
  { method: 'GET', path: '/v1/alert-channels', act: acts.channelList },
  {
    ...at('POST /v1/alert-channels'),
    act: acts.channelCreate,
    statuses: [201],
    bodyName: 'NewAlertChannel',
  },
  { method: 'DELETE', path: '/v1/alert-channels/:channel', act: acts.channelDelete },
  {
    ...at('POST /v1/alert-channels/:channel/test'),
    act: acts.channelTest,
    query: ['organisation'],
  },
  { method: 'GET', path: '/v1/alert-deliveries', act: acts.deliveryList },
]

export const controlRows: readonly ActRow[] = [...ownRows, ...ownKeyRows, ...alertRows]

export const controlRoutes: readonly Route[] = controlRows.map(byKey)

/**
 * The console's addresses of the control plane, each with the act that it performs. The page's client takes its types from
 * this table.
 */

import { type Act, type AnyAct, perform, type Shape } from '../control/act.ts'
import * as acts from '../control/acts.ts'
import { csvOf, type Sheet } from '../control/csv.ts'
import { bodySchema, inputFrom, membersOf, type Sources, written } from '../control/face.ts'
import { CALLS_MOST } from '../control/reports/calls.ts'
import { ROWS_MOST } from '../control/reports/usage.ts'
import type { JsonObject } from '../core/json-body.ts'
import { HOUSE } from '../store/alerts/alert-port.ts'
import { actingOf, operatingOf } from './acting.ts'
import type { ConsoleRoute } from './here.ts'
import { csv } from './schema/shared.ts'
import { callsSheet, statementSheet, usageSheet } from './sheets.ts'

type Row = Pick<Sources, 'query' | 'without'> &
  Pick<ConsoleRoute, 'fresh'> & {
    readonly act: AnyAct
    readonly made?: true
    /** For operators, who act on the whole house. */
    readonly house?: true
    /** Members of the input that are always these. */
    readonly fixed?: JsonObject
    /** What the act shows as a file of rows. */
    sheet?(shown: unknown): Sheet
  }

/** The session says these: nobody names an organisation in a request. */
const bySession = ['organisation', 'wallet', 'idempotency_key', 'if_version']

const asSheet = <Members extends Shape, Shown>(
  act: Act<Members, Shown>,
  sheet: (shown: Shown) => Sheet,
  fixed: JsonObject = {},
) => ({ act, sheet, fixed, without: Object.keys(fixed) })
/** Changes of people and of accounts need a sign-in of the last hour. */
const fresh = true
const house = true
/** What the operator watches of the house stands under it. */
const ofHouse = { house, fixed: { organisation: HOUSE }, without: ['organisation'] } as const
const ofWallet = { house, fresh, without: ['organisation'] } as const

/** By method and path, after /console/api. */
export const actRows = {
  'GET /keys': { act: acts.keyList },
  'POST /keys': { act: acts.keyCreate, made: true },
  'GET /keys/:key': { act: acts.keyGet },
  'PUT /keys/:key': { act: acts.keyChange },
  'DELETE /keys/:key': { act: acts.keyDelete },
  'POST /keys/:key/rotate': { act: acts.keyRotate, made: true },
  'GET /usage': { act: acts.usageReport },
  'GET /usage.csv': asSheet(acts.usageReport, usageSheet, { limit: ROWS_MOST }),
  'GET /calls': { act: acts.callList },
  'GET /calls.csv': asSheet(acts.callList, callsSheet, { limit: CALLS_MOST }),
  'GET /calls/:call': { act: acts.callGet },
  'GET /latency': { act: acts.callLatency },
  'GET /calls/:call/receipt': { act: acts.callReceipt },
  'GET /batches': { act: acts.batchList },
  'GET /batches/:batch': { act: acts.batchGet },
  'POST /batches/:batch/cancel': { act: acts.batchCancel },
  'POST /receipts/check': { act: acts.receiptCheck },
  'GET /wallet': { act: acts.walletGet },
  'GET /wallet/movements': { act: acts.walletMovements },
  'POST /wallet/top-up': { act: acts.checkoutOpen, made: true },
  'GET /wallet/checkouts/:checkout': { act: acts.checkoutGet },
  'PUT /wallet/auto-top-up': { act: acts.topUpChange, fresh },
  'DELETE /wallet/card': { act: acts.cardForget, fresh },
  'POST /wallet/invoices/:invoice/pay': { act: acts.invoicePay },
  'GET /rules': { act: acts.rulesGet },
  'PUT /rules': { act: acts.rulesChange, without: ['auto_top_up'] },
  'GET /sub-wallets': { act: acts.subWalletList },
  'POST /sub-wallets': { act: acts.subWalletCreate, made: true },
  'PUT /sub-wallets/:sub_wallet': { act: acts.subWalletChange },
  'DELETE /sub-wallets/:sub_wallet': { act: acts.subWalletDelete },
  'GET /budgets': { act: acts.budgetList },
  'PUT /budgets/:tag': { act: acts.budgetPut },
  'DELETE /budgets/:tag': { act: acts.budgetDelete },
  'GET /own-keys': { act: acts.ownKeyList },
  'POST /own-keys': { act: acts.ownKeyAdd, fresh, made: true },
  'PUT /own-keys/:own_key': { act: acts.ownKeyChange },
  'POST /own-keys/:own_key/try': { act: acts.ownKeyTry },
  'DELETE /own-keys/:own_key': { act: acts.ownKeyRemove, fresh },
  'GET /statement': { act: acts.statementGet },
  'GET /statement.csv': asSheet(acts.statementGet, statementSheet),
  'GET /statement/total': { act: acts.statementTotal },
  'POST /tenants': { act: acts.tenantCreate, made: true },
  'PUT /tenants/price': { act: acts.tenantMargins },
  'GET /tenants/:tenant': { act: acts.tenantGet },
  'PUT /tenants/:tenant': { act: acts.tenantSuspend },
  'PUT /tenants/:tenant/price': { act: acts.tenantMargin },
  'POST /tenants/:tenant/links': { act: acts.tenantLink, made: true },
  'DELETE /tenants/:tenant/links/:link': { act: acts.tenantUnlink },
  'GET /biller': { act: acts.billerGet },
  'PUT /biller': { act: acts.billerPut },
  'GET /tenants/:tenant/billing': { act: acts.tenantBillingGet },
  'PUT /tenants/:tenant/billing': { act: acts.tenantBillingPut },
  'GET /bills': { act: acts.billList },
  'POST /bills': { act: acts.billClose },
  'GET /bills-file': { act: acts.billExport },
  'GET /bills/:bill': { act: acts.billGet },
  'GET /bills/:bill/pdf': { act: acts.billPdf },
  'POST /bills/:bill/mail': { act: acts.billMail },
  'POST /bills/:bill/credit': { act: acts.billCredit },
  'PUT /bills/:bill/payment': { act: acts.billPaid },
  'GET /models': { act: acts.modelList },
  'GET /model-inputs': { act: acts.modelInputs },
  'GET /team': { act: acts.memberList },
  'POST /team': { act: acts.memberInvite, made: true, fresh, without: ['name', 'operator'] },
  'PUT /team/:person': { act: acts.memberChange, fresh },
  'DELETE /team/:person': { act: acts.memberRemove, fresh },
  'GET /teams': { act: acts.teamList },
  'POST /teams': { act: acts.teamCreate, made: true },
  'PUT /teams/:team': { act: acts.teamChange },
  'DELETE /teams/:team': { act: acts.teamDelete },
  'PUT /teams/:team/people/:person': { act: acts.teamMemberPut, fresh },
  'DELETE /teams/:team/people/:person': { act: acts.teamMemberRemove, fresh },
  'GET /group-rule': { act: acts.groupRuleGet },
  'PUT /group-rule': { act: acts.groupRulePut, fresh },
  'GET /logins': { act: acts.loginList },
  'DELETE /logins/:login': { act: acts.loginEnd },
  'GET /logins/asked/:user_code': { act: acts.loginGet },
  'POST /logins/asked/:user_code/approve': { act: acts.loginApprove, made: true },
  'POST /logins/asked/:user_code/deny': { act: acts.loginDeny },
  'GET /agent-settings': { act: acts.agentSettingsGet },
  'PUT /agent-settings': { act: acts.agentSettingsPut },
  'GET /events': { act: acts.eventList },
  'GET /alerts': { act: acts.alertList },
  'POST /alerts': { act: acts.alertCreate, made: true },
  'PUT /alerts/:alert': { act: acts.alertChange },
  'DELETE /alerts/:alert': { act: acts.alertDelete },
  'GET /alert-channels': { act: acts.channelList },
  'POST /alert-channels': { act: acts.channelCreate, made: true },
  'DELETE /alert-channels/:channel': { act: acts.channelDelete },
  'POST /alert-channels/:channel/test': { act: acts.channelTest },
  'GET /alert-deliveries': { act: acts.deliveryList },
  'GET /operator/accounts': { act: acts.organisationList, house },
  'POST /operator/accounts': { act: acts.organisationCreate, house, fresh, made: true },
  'POST /operator/accounts/:wallet/gifts': { act: acts.walletCredit, ...ofWallet },
  'PUT /operator/accounts/:wallet/suspended': { act: acts.organisationSuspend, ...ofWallet },
  'PUT /operator/accounts/:wallet/credit-line': { act: acts.creditGrant, ...ofWallet },
  'GET /operator/alerts': { act: acts.alertList, ...ofHouse },
  'POST /operator/alerts': { act: acts.alertCreate, made: true, ...ofHouse },
  'PUT /operator/alerts/:alert': { act: acts.alertChange, ...ofHouse },
  'DELETE /operator/alerts/:alert': { act: acts.alertDelete, ...ofHouse },
  'GET /operator/alert-channels': { act: acts.channelList, ...ofHouse },
  'POST /operator/alert-channels': { act: acts.channelCreate, made: true, ...ofHouse },
  'DELETE /operator/alert-channels/:channel': { act: acts.channelDelete, ...ofHouse },
  'POST /operator/alert-channels/:channel/test': { act: acts.channelTest, ...ofHouse },
  'GET /operator/alert-deliveries': { act: acts.deliveryList, ...ofHouse },
  'GET /operator/events': { act: acts.eventList, house },
  'GET /operator/system': { act: acts.systemGet, house },
  'GET /operator/vendors': { act: acts.vendorList, house },
  'GET /operator/payers': { act: acts.payerList, house },
  'GET /operator/payers/:payer': { act: acts.payerGet, house },
  'POST /operator/vendors/:vendor/keys': { act: acts.vendorKeyAdd, house, fresh, made: true },
  'DELETE /operator/vendors/:vendor/keys/:key': { act: acts.vendorKeyRemove, house, fresh },
  'GET /operator/latency': { act: acts.callLatency, house },
  'GET /operator/setup': { act: acts.setupGet, house },
  'POST /operator/audit': { act: acts.auditRun, house, without: ['all'] },
} as const satisfies Readonly<Record<string, Row>>

const routeOf = ([at, { act, made, house, fresh, fixed = {}, sheet, without = [], ...sources }]: [
  string,
  Row,
]): ConsoleRoute => {
  const [method = '', path = ''] = at.split(' ')
  const row = {
    ...sources,
    without: house === true ? without : [...bySession, ...without],
    act,
    method: method as ConsoleRoute['method'],
    path,
  }
  const body = bodySchema(row)
  return {
    method: row.method,
    path,
    summary: act.summary,
    audience: house === true ? 'operator' : act.may,
    ...(fresh === true ? { fresh } : {}),
    ...(body === undefined ? {} : { body: body.meta({ id: `Console ${at}`.replace(/\W+/g, '_') }) }),
    query: membersOf(row).query,
    ...(sheet === undefined ? { answer: act.shows, money: 'text' } : { answer: csv, csv: true }),
    ...(made === true ? { statuses: [201] as const } : {}),
    handler: async (here, read) => {
      const { params, query, headers } = here.request
      here.console.keepRolledUp()
      const { control, who } = house === true ? operatingOf(here) : actingOf(here)
      const value = await perform(control, who, act, async () => ({
        ...(await inputFrom(row, {
          params,
          query,
          header: (name) => headers.get(name) ?? undefined,
          body: read,
        })),
        ...fixed,
      }))
      if (sheet !== undefined) return { csv: csvOf(sheet(value)) }
      return { value: written(value, 'text'), status: made === true ? 201 : 200 }
    },
  }
}

export const actRoutes: readonly ConsoleRoute[] = Object.entries<Row>(actRows).map(routeOf)

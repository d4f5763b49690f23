/**
 * The console's addresses of the control plane, each with the act that it performs. The page's client takes its types from
 * this table.
 */
import { type Act, type AnyAct, perform, type Shape } from '../control/act.ts'
import {
  channelCreate,
  channelDelete,
  channelList,
  channelTest,
  deliveryList,
} from '../control/alerts/channels.ts'
import { alertChange, alertCreate, alertDelete, alertList } from '../control/alerts/rules.ts'
import { billCredit, billGet, billList, billPaid } from '../control/bills/bills.ts'
import { billClose } from '../control/bills/close.ts'
import { billExport, billMail, billPdf } from '../control/bills/files.ts'
import { billerGet, billerPut, tenantBillingGet, tenantBillingPut } from '../control/bills/parties.ts'
import { budgetDelete, budgetList, budgetPut } from '../control/budgets.ts'
import { keyChange, keyDelete, keyRotate } from '../control/change-key.ts'
import { csvOf, type Sheet } from '../control/csv.ts'
import { groupRuleGet, groupRulePut } from '../control/directory/rule.ts'
import { bodySchema, inputFrom, membersOf, type Sources, written } from '../control/face.ts'
import { eventList } from '../control/house/events.ts'
import { modelInputs, modelList } from '../control/house/models.ts'
import { auditRun, setupGet, systemGet } from '../control/house/system.ts'
import { vendorKeyAdd, vendorKeyRemove } from '../control/house/vendor-keys.ts'
import { vendorList } from '../control/house/vendors.ts'
import { keyCreate, keyGet, keyList } from '../control/keys.ts'
import { cardForget, checkoutGet, checkoutOpen, topUpChange } from '../control/money/checkouts.ts'
import { invoicePay } from '../control/money/invoices.ts'
import { creditGrant, walletCredit } from '../control/money/money.ts'
import { payerGet, payerList } from '../control/money/payers.ts'
import { rulesChange, rulesGet } from '../control/money/rules.ts'
import { walletGet, walletMovements } from '../control/money/wallet.ts'
import { organisationCreate, organisationList, organisationSuspend } from '../control/organisations.ts'
import { ownKeyAdd, ownKeyChange, ownKeyList, ownKeyRemove, ownKeyTry } from '../control/own-keys.ts'
import {
  agentSettingsGet,
  agentSettingsPut,
  loginApprove,
  loginDeny,
  loginEnd,
  loginGet,
  loginList,
} from '../control/people/logins.ts'
import { memberChange, memberInvite, memberList, memberRemove } from '../control/people/members.ts'
import {
  teamChange,
  teamCreate,
  teamDelete,
  teamList,
  teamMemberPut,
  teamMemberRemove,
} from '../control/people/teams.ts'
import { batchCancel, batchGet, batchList } from '../control/reports/batches.ts'
import { CALLS_MOST, callGet, callList } from '../control/reports/calls.ts'
import { callLatency } from '../control/reports/latency.ts'
import { callReceipt, receiptCheck } from '../control/reports/receipts.ts'
import { ROWS_MOST, usageReport } from '../control/reports/usage.ts'
import { subWalletChange, subWalletCreate, subWalletDelete, subWalletList } from '../control/sub-wallets.ts'
import { tenantMargin, tenantMargins } from '../control/tenants/margins.ts'
import { statementGet, statementTotal } from '../control/tenants/statements.ts'
import {
  tenantCreate,
  tenantGet,
  tenantLink,
  tenantSuspend,
  tenantUnlink,
} from '../control/tenants/tenants.ts'
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

/** A row that answers with a file. */
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
  'GET /keys': { act: keyList },
  'POST /keys': { act: keyCreate, made: true },
  'GET /keys/:key': { act: keyGet },
  'PUT /keys/:key': { act: keyChange },
  'DELETE /keys/:key': { act: keyDelete },
  'POST /keys/:key/rotate': { act: keyRotate, made: true },
  'GET /usage': { act: usageReport },
  'GET /usage.csv': asSheet(usageReport, usageSheet, { limit: ROWS_MOST }),
  'GET /calls': { act: callList },
  'GET /calls.csv': asSheet(callList, callsSheet, { limit: CALLS_MOST }),
  'GET /calls/:call': { act: callGet },
  'GET /latency': { act: callLatency },
  'GET /calls/:call/receipt': { act: callReceipt },
  'GET /batches': { act: batchList },
  'GET /batches/:batch': { act: batchGet },
  'POST /batches/:batch/cancel': { act: batchCancel },
  'POST /receipts/check': { act: receiptCheck },
  'GET /wallet': { act: walletGet },
  'GET /wallet/movements': { act: walletMovements },
  'POST /wallet/top-up': { act: checkoutOpen, made: true },
  'GET /wallet/checkouts/:checkout': { act: checkoutGet },
  'PUT /wallet/auto-top-up': { act: topUpChange, fresh },
  'DELETE /wallet/card': { act: cardForget, fresh },
  'POST /wallet/invoices/:invoice/pay': { act: invoicePay },
  'GET /rules': { act: rulesGet },
  'PUT /rules': { act: rulesChange, without: ['auto_top_up'] },
  'GET /sub-wallets': { act: subWalletList },
  'POST /sub-wallets': { act: subWalletCreate, made: true },
  'PUT /sub-wallets/:sub_wallet': { act: subWalletChange },
  'DELETE /sub-wallets/:sub_wallet': { act: subWalletDelete },
  'GET /budgets': { act: budgetList },
  'PUT /budgets/:tag': { act: budgetPut },
  'DELETE /budgets/:tag': { act: budgetDelete },
  'GET /own-keys': { act: ownKeyList },
  'POST /own-keys': { act: ownKeyAdd, fresh, made: true },
  'PUT /own-keys/:own_key': { act: ownKeyChange },
  'POST /own-keys/:own_key/try': { act: ownKeyTry },
  'DELETE /own-keys/:own_key': { act: ownKeyRemove, fresh },
  'GET /statement': { act: statementGet },
  'GET /statement.csv': asSheet(statementGet, statementSheet),
  'GET /statement/total': { act: statementTotal },
  'POST /tenants': { act: tenantCreate, made: true },
  'PUT /tenants/price': { act: tenantMargins },
  'GET /tenants/:tenant': { act: tenantGet },
  'PUT /tenants/:tenant': { act: tenantSuspend },
  'PUT /tenants/:tenant/price': { act: tenantMargin },
  'POST /tenants/:tenant/links': { act: tenantLink, made: true },
  'DELETE /tenants/:tenant/links/:link': { act: tenantUnlink },
  'GET /biller': { act: billerGet },
  'PUT /biller': { act: billerPut },
  'GET /tenants/:tenant/billing': { act: tenantBillingGet },
  'PUT /tenants/:tenant/billing': { act: tenantBillingPut },
  'GET /bills': { act: billList },
  'POST /bills': { act: billClose },
  'GET /bills-file': { act: billExport },
  'GET /bills/:bill': { act: billGet },
  'GET /bills/:bill/pdf': { act: billPdf },
  'POST /bills/:bill/mail': { act: billMail },
  'POST /bills/:bill/credit': { act: billCredit },
  'PUT /bills/:bill/payment': { act: billPaid },
  'GET /models': { act: modelList },
  'GET /model-inputs': { act: modelInputs },
  'GET /team': { act: memberList },
  'POST /team': { act: memberInvite, made: true, fresh, without: ['name', 'operator'] },
  'PUT /team/:person': { act: memberChange, fresh },
  'DELETE /team/:person': { act: memberRemove, fresh },
  'GET /teams': { act: teamList },
  'POST /teams': { act: teamCreate, made: true },
  'PUT /teams/:team': { act: teamChange },
  'DELETE /teams/:team': { act: teamDelete },
  'PUT /teams/:team/people/:person': { act: teamMemberPut, fresh },
  'DELETE /teams/:team/people/:person': { act: teamMemberRemove, fresh },
  'GET /group-rule': { act: groupRuleGet },
  'PUT /group-rule': { act: groupRulePut, fresh },
  'GET /logins': { act: loginList },
  'DELETE /logins/:login': { act: loginEnd },
  'GET /logins/asked/:user_code': { act: loginGet },
  'POST /logins/asked/:user_code/approve': { act: loginApprove, made: true },
  'POST /logins/asked/:user_code/deny': { act: loginDeny },
  'GET /agent-settings': { act: agentSettingsGet },
  'PUT /agent-settings': { act: agentSettingsPut },
  'GET /events': { act: eventList },
  'GET /alerts': { act: alertList },
  'POST /alerts': { act: alertCreate, made: true },
  'PUT /alerts/:alert': { act: alertChange },
  'DELETE /alerts/:alert': { act: alertDelete },
  'GET /alert-channels': { act: channelList },
  'POST /alert-channels': { act: channelCreate, made: true },
  'DELETE /alert-channels/:channel': { act: channelDelete },
  'POST /alert-channels/:channel/test': { act: channelTest },
  'GET /alert-deliveries': { act: deliveryList },
  'GET /operator/accounts': { act: organisationList, house },
  'POST /operator/accounts': { act: organisationCreate, house, fresh, made: true },
  'POST /operator/accounts/:wallet/gifts': { act: walletCredit, ...ofWallet },
  'PUT /operator/accounts/:wallet/suspended': { act: organisationSuspend, ...ofWallet },
  'PUT /operator/accounts/:wallet/credit-line': { act: creditGrant, ...ofWallet },
  'GET /operator/alerts': { act: alertList, ...ofHouse },
  'POST /operator/alerts': { act: alertCreate, made: true, ...ofHouse },
  'PUT /operator/alerts/:alert': { act: alertChange, ...ofHouse },
  'DELETE /operator/alerts/:alert': { act: alertDelete, ...ofHouse },
  'GET /operator/alert-channels': { act: channelList, ...ofHouse },
  'POST /operator/alert-channels': { act: channelCreate, made: true, ...ofHouse },
  'DELETE /operator/alert-channels/:channel': { act: channelDelete, ...ofHouse },
  'POST /operator/alert-channels/:channel/test': { act: channelTest, ...ofHouse },
  'GET /operator/alert-deliveries': { act: deliveryList, ...ofHouse },
  'GET /operator/events': { act: eventList, house },
  'GET /operator/system': { act: systemGet, house },
  'GET /operator/vendors': { act: vendorList, house },
  'GET /operator/payers': { act: payerList, house },
  'GET /operator/payers/:payer': { act: payerGet, house },
  'POST /operator/vendors/:vendor/keys': { act: vendorKeyAdd, house, fresh, made: true },
  'DELETE /operator/vendors/:vendor/keys/:key': { act: vendorKeyRemove, house, fresh },
  'GET /operator/latency': { act: callLatency, house },
  'GET /operator/setup': { act: setupGet, house },
  'POST /operator/audit': { act: auditRun, house, without: ['all'] },
} as const satisfies Readonly<Record<string, Row>>

/** Turns a row into a row of the console. */
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

/**
 * The operator's API for machines, below /v1/admin: whatever the console or a command can do, a machine with the right to it
 * can.
 */

import { rateLimited } from '../../admission/rate.ts'
import {
  channelCreate,
  channelDelete,
  channelList,
  channelTest,
  deliveryList,
} from '../../control/alerts/channels.ts'
import { alertChange, alertCreate, alertDelete, alertList } from '../../control/alerts/rules.ts'
import { billCredit, billGet, billList, billPaid } from '../../control/bills/bills.ts'
import { billClose } from '../../control/bills/close.ts'
import { billExport, billMail, billPdf } from '../../control/bills/files.ts'
import { billerGet, billerPut, tenantBillingGet, tenantBillingPut } from '../../control/bills/parties.ts'
import { budgetDelete, budgetGet, budgetList, budgetPut } from '../../control/budgets.ts'
import { keyChange, keyDelete, keyRotate } from '../../control/change-key.ts'
import { groupRuleGet, groupRulePut } from '../../control/directory/rule.ts'
import { configApply, configGet } from '../../control/house/config.ts'
import { eventAudit, eventChain } from '../../control/house/event-chain.ts'
import { eventList } from '../../control/house/events.ts'
import { modelInputs, modelList } from '../../control/house/models.ts'
import { auditRun, rollUp, setupGet, systemGet } from '../../control/house/system.ts'
import { vendorKeyAdd, vendorKeyRemove } from '../../control/house/vendor-keys.ts'
import { vendorList } from '../../control/house/vendors.ts'
import { keyCreate, keyGet, keyList, keyUsage } from '../../control/keys.ts'
import {
  checkMachine,
  machineCreate,
  machineList,
  machineOf,
  machineRevoke,
  machineRotate,
  whoIsMachine,
} from '../../control/machines.ts'
import { cardForget, checkoutGet, checkoutOpen, topUpChange } from '../../control/money/checkouts.ts'
import {
  billingGet,
  billingStatement,
  creditList,
  invoicePay,
  invoiceSettle,
} from '../../control/money/invoices.ts'
import { creditGrant, walletCredit, walletFund, walletWithdraw } from '../../control/money/money.ts'
import { payerGet, payerList } from '../../control/money/payers.ts'
import { rulesChange, rulesGet } from '../../control/money/rules.ts'
import { walletGet, walletMovements } from '../../control/money/wallet.ts'
import {
  organisationCreate,
  organisationGet,
  organisationList,
  organisationPut,
  organisationSuspend,
} from '../../control/organisations.ts'
import { ownKeyAdd, ownKeyChange, ownKeyList, ownKeyRemove, ownKeyTry } from '../../control/own-keys.ts'
import { organisationForget } from '../../control/people/forget.ts'
import { agentSettingsGet, agentSettingsPut, loginEnd, loginList } from '../../control/people/logins.ts'
import { memberChange, memberInvite, memberList, memberRemove } from '../../control/people/members.ts'
import { personLink, personList, personOperator, personRemove } from '../../control/people/persons.ts'
import {
  teamChange,
  teamCreate,
  teamDelete,
  teamList,
  teamMemberPut,
  teamMemberRemove,
} from '../../control/people/teams.ts'
import { keyPut } from '../../control/put-key.ts'
import { batchCancel, batchGet, batchList } from '../../control/reports/batches.ts'
import { callCharge, callGet, callList } from '../../control/reports/calls.ts'
import { callLatency } from '../../control/reports/latency.ts'
import { logDay } from '../../control/reports/log-day.ts'
import {
  callReceipt,
  receiptCheck,
  receiptKeyList,
  receiptKeyRevoke,
  receiptKeyRotate,
} from '../../control/reports/receipts.ts'
import { usageReport } from '../../control/reports/usage.ts'
import {
  subWalletChange,
  subWalletCreate,
  subWalletDelete,
  subWalletGet,
  subWalletList,
} from '../../control/sub-wallets.ts'
import { tenantMargin, tenantMargins, tenantMarginsGet } from '../../control/tenants/margins.ts'
import { statementGet, statementTotal, tenantUse } from '../../control/tenants/statements.ts'
import {
  tenantCreate,
  tenantGet,
  tenantLink,
  tenantSuspend,
  tenantUnlink,
} from '../../control/tenants/tenants.ts'
import type { Who } from '../../control/who.ts'
import { isWithin, readBlock } from '../../core/address.ts'
import { must } from '../../core/refusal.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { addRateHeaders } from '../../gateway/parts/trace.ts'
import { addressOfCall, originOfCall } from '../request/origin.ts'
import type { HttpCall, Route } from '../route/route.ts'
import { type ActRow, actRoute } from './act-route.ts'

/** The machine that asks; each request of it counts at its rate. */
export const asMachine = async (gateway: Gateway, call: HttpCall): Promise<{ readonly who: Who }> => {
  const { book, clock } = gateway
  const found = await machineOf(gateway, call.request.headers.get('authorization'))
  const address = addressOfCall(gateway, call)
  const isFrom = (text: string): boolean => {
    const block = readBlock(text)
    return address !== undefined && block !== undefined && isWithin(address, block)
  }
  const machine = must(checkMachine(found, clock.now(), isFrom))
  const taken = must(await book.takeRate(machine.id, { rpm: machine.rpm }, undefined))
  addRateHeaders(call.trace, taken)
  if (!taken.admitted) throw rateLimited(taken, 'own')
  return { who: whoIsMachine(gateway, machine, originOfCall(gateway, call)) }
}

const byMachine = actRoute({ auth: 'machine', money: 'text', asking: asMachine })

const once = { 'Idempotency-Key': 'idempotency_key' }
const ifMatch = { 'If-Match': 'if_version' }
const made = [201] as const

const table: readonly (Omit<ActRow, 'path' | 'method'> & { readonly at: string })[] = [
  { at: 'GET /keys', act: keyList },
  { at: 'POST /keys', act: keyCreate, headers: once, statuses: made },
  { at: 'GET /keys/:key', act: keyGet },
  { at: 'PUT /keys/:key', act: keyPut, headers: ifMatch },
  { at: 'PATCH /keys/:key', act: keyChange, headers: ifMatch },
  { at: 'DELETE /keys/:key', act: keyDelete },
  { at: 'POST /keys/:key/rotate', act: keyRotate, statuses: made },
  { at: 'GET /keys/:key/usage', act: keyUsage },
  { at: 'GET /usage', act: usageReport },
  { at: 'GET /calls', act: callList },
  { at: 'GET /latency', act: callLatency },
  { at: 'GET /calls/:call', act: callGet },
  { at: 'GET /calls/:call/receipt', act: callReceipt },
  { at: 'GET /calls/:call/charge', act: callCharge },
  { at: 'GET /payers', act: payerList },
  { at: 'GET /payers/:payer', act: payerGet },
  { at: 'GET /batches', act: batchList },
  { at: 'GET /batches/:batch', act: batchGet },
  { at: 'POST /batches/:batch/cancel', act: batchCancel },
  { at: 'POST /receipts/check', act: receiptCheck },
  { at: 'GET /receipt-keys', act: receiptKeyList },
  { at: 'POST /receipt-keys', act: receiptKeyRotate, statuses: made },
  { at: 'DELETE /receipt-keys/:kid', act: receiptKeyRevoke },
  { at: 'GET /organisations', act: organisationList },
  { at: 'POST /organisations', act: organisationCreate, statuses: made },
  { at: 'GET /organisations/:organisation', act: organisationGet },
  { at: 'PUT /organisations/:organisation', act: organisationPut },
  { at: 'DELETE /organisations/:organisation', act: organisationForget },
  { at: 'POST /organisations/:organisation/funds', act: walletFund },
  { at: 'POST /organisations/:organisation/gifts', act: walletCredit },
  { at: 'POST /organisations/:organisation/withdrawals', act: walletWithdraw },
  { at: 'PUT /organisations/:organisation/credit', act: creditGrant },
  { at: 'PUT /organisations/:organisation/suspension', act: organisationSuspend },
  { at: 'GET /organisations/:organisation/margin', act: tenantMarginsGet },
  { at: 'GET /organisations/:organisation/wallet', act: walletGet },
  { at: 'GET /organisations/:organisation/movements', act: walletMovements },
  { at: 'POST /organisations/:organisation/checkouts', act: checkoutOpen, statuses: made },
  { at: 'GET /checkouts/:checkout', act: checkoutGet },
  { at: 'DELETE /organisations/:organisation/card', act: cardForget },
  { at: 'PUT /organisations/:organisation/auto-top-up', act: topUpChange },
  { at: 'GET /credit', act: creditList },
  { at: 'GET /organisations/:organisation/bill', act: billingGet },
  { at: 'GET /organisations/:organisation/bill/:month', act: billingStatement },
  { at: 'POST /invoices/:invoice/pay', act: invoicePay },
  { at: 'POST /invoices/:invoice/settle', act: invoiceSettle },
  { at: 'GET /organisations/:organisation/rules', act: rulesGet },
  { at: 'PATCH /organisations/:organisation/rules', act: rulesChange, headers: ifMatch },
  { at: 'GET /organisations/:organisation/sub-wallets', act: subWalletList },
  { at: 'POST /organisations/:organisation/sub-wallets', act: subWalletCreate, statuses: made },
  { at: 'GET /organisations/:organisation/sub-wallets/:sub_wallet', act: subWalletGet },
  { at: 'PATCH /organisations/:organisation/sub-wallets/:sub_wallet', act: subWalletChange },
  { at: 'DELETE /organisations/:organisation/sub-wallets/:sub_wallet', act: subWalletDelete },
  { at: 'GET /organisations/:organisation/budgets', act: budgetList },
  { at: 'GET /organisations/:organisation/budgets/:tag', act: budgetGet },
  { at: 'PUT /organisations/:organisation/budgets/:tag', act: budgetPut },
  { at: 'DELETE /organisations/:organisation/budgets/:tag', act: budgetDelete },
  { at: 'GET /organisations/:organisation/own-keys', act: ownKeyList },
  { at: 'POST /organisations/:organisation/own-keys', act: ownKeyAdd, statuses: made },
  { at: 'PUT /organisations/:organisation/own-keys/:own_key', act: ownKeyChange },
  { at: 'POST /organisations/:organisation/own-keys/:own_key/try', act: ownKeyTry },
  { at: 'DELETE /organisations/:organisation/own-keys/:own_key', act: ownKeyRemove },
  { at: 'GET /statement', act: statementGet },
  { at: 'GET /statement/total', act: statementTotal },
  { at: 'GET /organisations/:organisation/biller', act: billerGet },
  { at: 'PUT /organisations/:organisation/biller', act: billerPut },
  { at: 'GET /tenants/:tenant/billing', act: tenantBillingGet },
  { at: 'PUT /tenants/:tenant/billing', act: tenantBillingPut },
  { at: 'GET /bills', act: billList },
  { at: 'POST /bills', act: billClose },
  { at: 'GET /bills-file', act: billExport },
  { at: 'GET /bills/:bill', act: billGet },
  { at: 'GET /bills/:bill/pdf', act: billPdf },
  { at: 'POST /bills/:bill/mail', act: billMail },
  { at: 'POST /bills/:bill/credit', act: billCredit, statuses: made },
  { at: 'PUT /bills/:bill/payment', act: billPaid },
  { at: 'GET /organisations/:organisation/people', act: memberList },
  { at: 'POST /organisations/:organisation/people', act: memberInvite, statuses: made },
  { at: 'PUT /organisations/:organisation/people/:person', act: memberChange },
  { at: 'DELETE /organisations/:organisation/people/:person', act: memberRemove },
  { at: 'GET /organisations/:organisation/logins', act: loginList },
  { at: 'DELETE /organisations/:organisation/logins/:login', act: loginEnd },
  { at: 'GET /organisations/:organisation/agent-settings', act: agentSettingsGet },
  { at: 'PUT /organisations/:organisation/agent-settings', act: agentSettingsPut },
  { at: 'GET /organisations/:organisation/teams', act: teamList },
  { at: 'POST /organisations/:organisation/teams', act: teamCreate, statuses: made },
  { at: 'PATCH /organisations/:organisation/teams/:team', act: teamChange },
  { at: 'DELETE /organisations/:organisation/teams/:team', act: teamDelete },
  { at: 'PUT /organisations/:organisation/teams/:team/people/:person', act: teamMemberPut },
  { at: 'DELETE /organisations/:organisation/teams/:team/people/:person', act: teamMemberRemove },
  { at: 'GET /organisations/:organisation/group-rule', act: groupRuleGet },
  { at: 'PUT /organisations/:organisation/group-rule', act: groupRulePut },
  { at: 'GET /people', act: personList },
  { at: 'PUT /people/:person/operator', act: personOperator },
  { at: 'POST /people/:person/links', act: personLink, statuses: made },
  { at: 'DELETE /people/:person', act: personRemove },
  { at: 'GET /events', act: eventList },
  { at: 'GET /event-chain', act: eventChain },
  { at: 'POST /audit/events', act: eventAudit },
  { at: 'GET /log/days/:day', act: logDay },
  { at: 'GET /organisations/:organisation/alerts', act: alertList },
  { at: 'POST /organisations/:organisation/alerts', act: alertCreate, statuses: made },
  { at: 'PUT /organisations/:organisation/alerts/:alert', act: alertChange },
  { at: 'DELETE /organisations/:organisation/alerts/:alert', act: alertDelete },
  { at: 'GET /organisations/:organisation/alert-channels', act: channelList },
  { at: 'POST /organisations/:organisation/alert-channels', act: channelCreate, statuses: made },
  { at: 'DELETE /organisations/:organisation/alert-channels/:channel', act: channelDelete },
  { at: 'POST /organisations/:organisation/alert-channels/:channel/test', act: channelTest },
  { at: 'GET /organisations/:organisation/alert-deliveries', act: deliveryList },
  { at: 'GET /models', act: modelList },
  { at: 'GET /model-inputs', act: modelInputs },
  { at: 'GET /system', act: systemGet },
  { at: 'GET /vendors', act: vendorList },
  { at: 'POST /vendors/:vendor/keys', act: vendorKeyAdd, statuses: made },
  { at: 'DELETE /vendors/:vendor/keys/:key', act: vendorKeyRemove },
  { at: 'GET /setup', act: setupGet },
  { at: 'POST /audit', act: auditRun },
  { at: 'POST /roll-up', act: rollUp },
  { at: 'GET /config', act: configGet },
  { at: 'POST /config', act: configApply },
  { at: 'POST /tenants', act: tenantCreate, statuses: made },
  { at: 'PUT /tenants/margin', act: tenantMargins },
  { at: 'GET /tenants/:tenant', act: tenantGet },
  { at: 'GET /tenants/:tenant/use', act: tenantUse },
  { at: 'PUT /tenants/:tenant/suspension', act: tenantSuspend },
  { at: 'PUT /tenants/:tenant/margin', act: tenantMargin },
  { at: 'POST /tenants/:tenant/links', act: tenantLink, statuses: made },
  { at: 'DELETE /tenants/:tenant/links/:link', act: tenantUnlink },
  { at: 'GET /machines', act: machineList },
  { at: 'POST /machines', act: machineCreate, statuses: made },
  { at: 'POST /machines/:machine/rotate', act: machineRotate, statuses: made },
  { at: 'DELETE /machines/:machine', act: machineRevoke },
]

/** `POST /keys/:key/rotate` → `AdminPostKeysOneRotate`. */
const bodyNameOf = (at: string): string =>
  `Admin${at
    .split(/[\s/-]+/)
    .map((part) => (part.startsWith(':') ? 'One' : `${part.charAt(0)}${part.slice(1).toLowerCase()}`))
    .map((part) => `${part.charAt(0).toUpperCase()}${part.slice(1)}`)
    .join('')}`

export const adminRows = table.map(({ at, ...row }): ActRow => {
  const [method = '', path = ''] = at.split(' ')
  return { ...row, method: method as ActRow['method'], path: `/v1/admin${path}`, bodyName: bodyNameOf(at) }
})

export const adminRoutes: readonly Route[] = adminRows.map(byMachine)

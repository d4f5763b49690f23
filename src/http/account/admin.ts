/**
 * The operator's API for machines, below /v1/admin: whatever the console or a command can do, a machine with the right to it
 * can.
 */

import { rateLimited } from '../../admission/rate.ts'
import * as acts from '../../control/acts.ts'
import { checkMachine, machineOf, whoIsMachine } from '../../control/machines.ts'
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
  { at: 'GET /keys', act: acts.keyList },
  { at: 'POST /keys', act: acts.keyCreate, headers: once, statuses: made },
  { at: 'GET /keys/:key', act: acts.keyGet },
  { at: 'PUT /keys/:key', act: acts.keyPut, headers: ifMatch },
  { at: 'PATCH /keys/:key', act: acts.keyChange, headers: ifMatch },
  { at: 'DELETE /keys/:key', act: acts.keyDelete },
  { at: 'POST /keys/:key/rotate', act: acts.keyRotate, statuses: made },
  { at: 'GET /keys/:key/usage', act: acts.keyUsage },
  { at: 'GET /usage', act: acts.usageReport },
  { at: 'GET /calls', act: acts.callList },
  { at: 'GET /latency', act: acts.callLatency },
  { at: 'GET /calls/:call', act: acts.callGet },
  { at: 'GET /calls/:call/receipt', act: acts.callReceipt },
  { at: 'GET /calls/:call/charge', act: acts.callCharge },
  { at: 'GET /payers', act: acts.payerList },
  { at: 'GET /payers/:payer', act: acts.payerGet },
  { at: 'GET /batches', act: acts.batchList },
  { at: 'GET /batches/:batch', act: acts.batchGet },
  { at: 'POST /batches/:batch/cancel', act: acts.batchCancel },
  { at: 'POST /receipts/check', act: acts.receiptCheck },
  { at: 'GET /receipt-keys', act: acts.receiptKeyList },
  { at: 'POST /receipt-keys', act: acts.receiptKeyRotate, statuses: made },
  { at: 'DELETE /receipt-keys/:kid', act: acts.receiptKeyRevoke },
  { at: 'GET /organisations', act: acts.organisationList },
  { at: 'POST /organisations', act: acts.organisationCreate, statuses: made },
  { at: 'GET /organisations/:organisation', act: acts.organisationGet },
  { at: 'PUT /organisations/:organisation', act: acts.organisationPut },
  { at: 'DELETE /organisations/:organisation', act: acts.organisationForget },
  { at: 'POST /organisations/:organisation/funds', act: acts.walletFund },
  { at: 'POST /organisations/:organisation/gifts', act: acts.walletCredit },
  { at: 'POST /organisations/:organisation/withdrawals', act: acts.walletWithdraw },
  { at: 'PUT /organisations/:organisation/credit', act: acts.creditGrant },
  { at: 'PUT /organisations/:organisation/suspension', act: acts.organisationSuspend },
  { at: 'GET /organisations/:organisation/margin', act: acts.tenantMarginsGet },
  { at: 'GET /organisations/:organisation/wallet', act: acts.walletGet },
  { at: 'GET /organisations/:organisation/movements', act: acts.walletMovements },
  { at: 'POST /organisations/:organisation/checkouts', act: acts.checkoutOpen, statuses: made },
  { at: 'GET /checkouts/:checkout', act: acts.checkoutGet },
  { at: 'DELETE /organisations/:organisation/card', act: acts.cardForget },
  { at: 'PUT /organisations/:organisation/auto-top-up', act: acts.topUpChange },
  { at: 'GET /credit', act: acts.creditList },
  { at: 'GET /organisations/:organisation/bill', act: acts.billingGet },
  { at: 'GET /organisations/:organisation/bill/:month', act: acts.billingStatement },
  { at: 'POST /invoices/:invoice/pay', act: acts.invoicePay },
  { at: 'POST /invoices/:invoice/settle', act: acts.invoiceSettle },
  { at: 'GET /organisations/:organisation/rules', act: acts.rulesGet },
  { at: 'PATCH /organisations/:organisation/rules', act: acts.rulesChange, headers: ifMatch },
  { at: 'GET /organisations/:organisation/sub-wallets', act: acts.subWalletList },
  { at: 'POST /organisations/:organisation/sub-wallets', act: acts.subWalletCreate, statuses: made },
  { at: 'GET /organisations/:organisation/sub-wallets/:sub_wallet', act: acts.subWalletGet },
  { at: 'PATCH /organisations/:organisation/sub-wallets/:sub_wallet', act: acts.subWalletChange },
  { at: 'DELETE /organisations/:organisation/sub-wallets/:sub_wallet', act: acts.subWalletDelete },
  { at: 'GET /organisations/:organisation/budgets', act: acts.budgetList },
  { at: 'GET /organisations/:organisation/budgets/:tag', act: acts.budgetGet },
  { at: 'PUT /organisations/:organisation/budgets/:tag', act: acts.budgetPut },
  { at: 'DELETE /organisations/:organisation/budgets/:tag', act: acts.budgetDelete },
  { at: 'GET /organisations/:organisation/own-keys', act: acts.ownKeyList },
  { at: 'POST /organisations/:organisation/own-keys', act: acts.ownKeyAdd, statuses: made },
  { at: 'PUT /organisations/:organisation/own-keys/:own_key', act: acts.ownKeyChange },
  { at: 'POST /organisations/:organisation/own-keys/:own_key/try', act: acts.ownKeyTry },
  { at: 'DELETE /organisations/:organisation/own-keys/:own_key', act: acts.ownKeyRemove },
  { at: 'GET /statement', act: acts.statementGet },
  { at: 'GET /statement/total', act: acts.statementTotal },
  { at: 'GET /organisations/:organisation/biller', act: acts.billerGet },
  { at: 'PUT /organisations/:organisation/biller', act: acts.billerPut },
  { at: 'GET /tenants/:tenant/billing', act: acts.tenantBillingGet },
  { at: 'PUT /tenants/:tenant/billing', act: acts.tenantBillingPut },
  { at: 'GET /bills', act: acts.billList },
  { at: 'POST /bills', act: acts.billClose },
  { at: 'GET /bills-file', act: acts.billExport },
  { at: 'GET /bills/:bill', act: acts.billGet },
  { at: 'GET /bills/:bill/pdf', act: acts.billPdf },
  { at: 'POST /bills/:bill/mail', act: acts.billMail },
  { at: 'POST /bills/:bill/credit', act: acts.billCredit, statuses: made },
  { at: 'PUT /bills/:bill/payment', act: acts.billPaid },
  { at: 'GET /organisations/:organisation/people', act: acts.memberList },
  { at: 'POST /organisations/:organisation/people', act: acts.memberInvite, statuses: made },
  { at: 'PUT /organisations/:organisation/people/:person', act: acts.memberChange },
  { at: 'DELETE /organisations/:organisation/people/:person', act: acts.memberRemove },
  { at: 'GET /organisations/:organisation/logins', act: acts.loginList },
  { at: 'DELETE /organisations/:organisation/logins/:login', act: acts.loginEnd },
  { at: 'GET /organisations/:organisation/agent-settings', act: acts.agentSettingsGet },
  { at: 'PUT /organisations/:organisation/agent-settings', act: acts.agentSettingsPut },
  { at: 'GET /organisations/:organisation/teams', act: acts.teamList },
  { at: 'POST /organisations/:organisation/teams', act: acts.teamCreate, statuses: made },
  { at: 'PATCH /organisations/:organisation/teams/:team', act: acts.teamChange },
  { at: 'DELETE /organisations/:organisation/teams/:team', act: acts.teamDelete },
  { at: 'PUT /organisations/:organisation/teams/:team/people/:person', act: acts.teamMemberPut },
  { at: 'DELETE /organisations/:organisation/teams/:team/people/:person', act: acts.teamMemberRemove },
  { at: 'GET /organisations/:organisation/group-rule', act: acts.groupRuleGet },
  { at: 'PUT /organisations/:organisation/group-rule', act: acts.groupRulePut },
  { at: 'GET /people', act: acts.personList },
  { at: 'PUT /people/:person/operator', act: acts.personOperator },
  { at: 'POST /people/:person/links', act: acts.personLink, statuses: made },
  { at: 'DELETE /people/:person', act: acts.personRemove },
  { at: 'GET /events', act: acts.eventList },
  { at: 'GET /event-chain', act: acts.eventChain },
  { at: 'POST /audit/events', act: acts.eventAudit },
  { at: 'GET /log/days/:day', act: acts.logDay },
  { at: 'GET /organisations/:organisation/alerts', act: acts.alertList },
  { at: 'POST /organisations/:organisation/alerts', act: acts.alertCreate, statuses: made },
  { at: 'PUT /organisations/:organisation/alerts/:alert', act: acts.alertChange },
  { at: 'DELETE /organisations/:organisation/alerts/:alert', act: acts.alertDelete },
  { at: 'GET /organisations/:organisation/alert-channels', act: acts.channelList },
  { at: 'POST /organisations/:organisation/alert-channels', act: acts.channelCreate, statuses: made },
  { at: 'DELETE /organisations/:organisation/alert-channels/:channel', act: acts.channelDelete },
  { at: 'POST /organisations/:organisation/alert-channels/:channel/test', act: acts.channelTest },
  { at: 'GET /organisations/:organisation/alert-deliveries', act: acts.deliveryList },
  { at: 'GET /models', act: acts.modelList },
  { at: 'GET /model-inputs', act: acts.modelInputs },
  { at: 'GET /system', act: acts.systemGet },
  { at: 'GET /vendors', act: acts.vendorList },
  { at: 'POST /vendors/:vendor/keys', act: acts.vendorKeyAdd, statuses: made },
  { at: 'DELETE /vendors/:vendor/keys/:key', act: acts.vendorKeyRemove },
  { at: 'GET /setup', act: acts.setupGet },
  { at: 'POST /audit', act: acts.auditRun },
  { at: 'POST /roll-up', act: acts.rollUp },
  { at: 'GET /config', act: acts.configGet },
  { at: 'POST /config', act: acts.configApply },
  { at: 'POST /tenants', act: acts.tenantCreate, statuses: made },
  { at: 'PUT /tenants/margin', act: acts.tenantMargins },
  { at: 'GET /tenants/:tenant', act: acts.tenantGet },
  { at: 'GET /tenants/:tenant/use', act: acts.tenantUse },
  { at: 'PUT /tenants/:tenant/suspension', act: acts.tenantSuspend },
  { at: 'PUT /tenants/:tenant/margin', act: acts.tenantMargin },
  { at: 'POST /tenants/:tenant/links', act: acts.tenantLink, statuses: made },
  { at: 'DELETE /tenants/:tenant/links/:link', act: acts.tenantUnlink },
  { at: 'GET /machines', act: acts.machineList },
  { at: 'POST /machines', act: acts.machineCreate, statuses: made },
  { at: 'POST /machines/:machine/rotate', act: acts.machineRotate, statuses: made },
  { at: 'DELETE /machines/:machine', act: acts.machineRevoke },
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

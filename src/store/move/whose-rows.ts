/**
 * Whose rows each table of the ledger has: what goes along when an organisation moves to another cell, and what stays and why. A
 * new table must be named here, which a test demands.
 */
import { rateNames } from '../../tenancy/rates.ts'

/**
 * How rows of an organisation arrive. `added`: they never change, and those that are there from an earlier stay are the same.
 * `kept`: they are never deleted, so later ones replace earlier ones; where they come from they stay, because the books name
 * them. `whole`: all of them replace all that were there, and where they come from they go, because work would be done on
 * them twice.
 */
export type Arrives = 'added' | 'kept' | 'whole'

type Moves = {
  readonly arrives: Arrives
  /** Which rows are the organisation's, whose id stands for `:org`. */
  readonly where: string
  /** In which order, if others of the same table must be there first. */
  readonly order?: string
}

const keys = '(select k.id from api_key k where k.org_id = :org)'
const accounts = '(select a.id from account a where a.org_id = :org)'
const people = '(select m.person_id from member m where m.org_id = :org)'
const ofOrg = 'org_id = :org'
const ofKey = `key_id in ${keys}`
const ofWallet = `wallet_id in ${accounts}`
const ofAccount = `account_id in ${accounts}`
const ofLease = `lease_id in (select l.id from lease l where l.key_id in ${keys})`
const ofHeld = 'in (select h.lease_id from held_along h)'
const ofBatch = `batch_id in (select b.id from batch b where b.key_id in ${keys})`
const counters = rateNames.map((name) => `select k.id || ' ${name}' from api_key k where k.org_id = :org`)

const added = (where: string): Moves => ({ arrives: 'added', where })
const kept = (where: string, order?: string): Moves => ({
  arrives: 'kept',
  where,
  ...(order === undefined ? {} : { order }),
})
const whole = (where: string): Moves => ({ arrives: 'whole', where })

/** The reference under which an account's balance goes from one cell to another begins so; it stays in the books of both. */
export const BETWEEN_CELLS = 'cell:'

/** Tables with rows of organisations. Each comes after those that its foreign keys name, and people before all that names them. */
export const moved: Readonly<Record<string, Moves>> = {
  person: added(`id in ${people}`),
  person_account: added(`user_id in ${people}`),
  person_totp: added(`user_id in ${people}`),
  person_passkey: added(`user_id in ${people}`),
  account: kept(`${ofOrg} and bounded = 1`),
  api_key: kept(ofOrg, 'created_at, id'),
  key_line: kept(ofKey),
  key_note: kept(ofKey),
  sub_wallet: kept(ofWallet),
  team: kept(ofOrg),
  tag_budget: whole(ofWallet),
  wallet_rules: kept(ofWallet),
  credit_line: kept(ofAccount),
  invoice: kept(ofAccount),
  checkout: kept(ofWallet),
  auto_top_up: whole(ofWallet),
  top_up: whole(ofWallet),
  taken_back: kept(
    `topup_ref in (select t.ref from transfer t where t.kind = 'topup' and t.credit in ${accounts})`,
  ),
  budget: kept(ofWallet),
  held_along: whole(ofLease),
  lease: kept(`${ofKey} and id ${ofHeld}`),
  lease_tag: added(`${ofLease} and lease_id ${ofHeld}`),
  transfer: added(`(kind, ref) in (select t.kind, t.ref from transfer t where t.key_id in ${keys}
    union select t.kind, t.ref from transfer t where t.kind <> 'usage' and t.debit in ${accounts}
    union select t.kind, t.ref from transfer t where t.kind <> 'usage' and t.credit in ${accounts})
    and not (kind = 'adjust' and ref like '${BETWEEN_CELLS}%')`),
  usage_detail: added(
    `call_id in (select t.ref from transfer t where t.kind in ('usage', 'writeoff') and t.key_id in ${keys})`,
  ),
  roll_up_hour: kept(ofOrg),
  roll_up_day: kept(ofKey),
  roll_up_key: kept(ofKey),
  roll_up_account: kept(ofAccount),
  failed_call: whole(ofOrg),
  failed_day: whole(ofOrg),
  idempotency: whole(ofKey),
  kept_response: whole(ofKey),
  kept_item: whole(ofKey),
  kept_event: whole(ofKey),
  kept_size: whole(ofKey),
  asset: whole(ofKey),
  run: whole(ofKey),
  batch: whole(ofKey),
  batch_line: whole(ofBatch),
  batch_part: whole(ofBatch),
  rate_window: whole(`(key_id in ${keys} or key_id in (${counters.join(' union ')}))`),
  own_data_key: kept(ofOrg),
  own_key: whole(ofOrg),
  agent_settings: whole(ofOrg),
  review: whole(ofOrg),
  referral_code: kept(ofWallet),
  biller: whole(ofOrg),
  biller_logo: whole(ofOrg),
  tenant_billing: whole(ofOrg),
  tenant_link: whole(ofOrg),
  tenant_margin: whole(ofOrg),
  bill: whole(ofOrg),
  member: whole(ofOrg),
  team_member: whole('team_id in (select t.id from team t where t.org_id = :org)'),
  group_rule: whole(ofOrg),
  scim_resource: whole(ofOrg),
  scim_member: whole('group_id in (select r.id from scim_resource r where r.org_id = :org)'),
  login: whole(ofOrg),
  alert_channel: whole(ofOrg),
  alert_rule: whole(ofOrg),
  alert: whole('rule_id in (select r.id from alert_rule r where r.org_id = :org)'),
  alert_delivery: whole(ofOrg),
  event: added(ofOrg),
}

/** Tables whose rows stay, and why. */
export const stays: Readonly<Record<string, string>> = {
  inflight: 'of a lease: what goes along is in `held_along` meanwhile',
  instance: 'of a process',
  rate_share: 'of a process: windows go as if all shares were used',
  export_due: 'of the house: each cell exports the calls that it answered',
  roll_up_key_month: 'made by triggers from `roll_up_key`',
  roll_up_model_month: 'made by triggers from `roll_up_day`',
  x402_channel: 'of the house: guests without an organisation pay by it',
  x402_payment: 'of the house, like its channel; change that went to a wallet is in its postings',
  trial_claim: 'of the house: which network addresses had a trial; a trial that moves ends by its key',
  trial_day: 'of the house: what trials may cost in a day',
  referral_claim: 'of the house that gave the money: its books compare both sides of it',
  receipt_key: 'of the house: each cell signs with its own keys and shows those of all',
  log_tile: 'of the house: the log of receipts of the calls that this cell answered',
  log_end: 'of the house, like the log',
  event_chain: 'of the house: events are chained again where they arrive',
  event_head: 'of the house, like the chain',
  person_session: 'of a person, who signs in again in the other cell',
  person_verification: 'of a person: links that were sent',
  sign_in_attempt: 'of the house: it counts network addresses',
  machine: 'of the house: credentials of its operators',
  cell_move: 'of the house: the moves themselves',
  setting: 'of the house',
  schema_migration: 'of the database',
}

/**
 * Removing what is known of people and customers. Whoever asks may have it removed, while the books must stay: ids stand
 * for names from then on, and postings, counters and sums are never touched.
 */
import { LEAVING } from '../../tenancy/key.ts'
import { type Engine, once, type Run, type SqlDialect, type Value } from '../engine/engine.ts'
import { maybeText, textOf } from '../engine/row.ts'
import { mustBeHere } from '../faults.ts'
import { recordIn } from './event-store.ts'
import type { ForgetStore, Forgotten } from './forget-port.ts'

/** Runs a change and counts its rows. */
const changed = async (run: Run, text: string, ...params: Value[]): Promise<number> =>
  (await run(`${text} returning 1 as one`, params)).length

/** Whether a text contains an address, as it stands in JSON too. */
const names = (column: string): string => `length(replace(${column}, $1, '')) < length(${column})`

/** Links that were not used yet. Their rows say whom they sign in. */
const endLinks = (run: Run, email: string) =>
  changed(run, `delete from person_verification where ${names('identifier')} or ${names('value')}`, email)

/** In events of all organisations: what the person was called, from where they came, and what was said of them. */
const forgetInEvents = async (run: Run, id: string, email: string): Promise<number> =>
  (await changed(
    run,
    `update event set actor_name = 'removed person', address = null, salt = null where actor_id = $1 and actor_kind = 'person'`,
    id,
  )) +
  (await changed(
    run,
    'update event set before = null, after = null, salt = null where subject = $1 and coalesce(before, after) is not null',
    id,
  )) +
  (await changed(
    run,
    `update event set before = replace(before, $1, 'removed'), after = replace(after, $1, 'removed'), salt = null
     where ${names('before')} or ${names('after')}`,
    email,
  ))

/** The row takes sessions, passwords, passkeys, codes and memberships with it. */
const removePerson = async (run: Run, id: string, email: string): Promise<Forgotten> => {
  const own = async (table: string) =>
    (await run(`select 1 as one from ${table} where user_id = $1`, [id])).length
  const [sessions, credentials] = [
    await own('person_session'),
    (await own('person_account')) + (await own('person_passkey')) + (await own('person_totp')),
  ]
  const links = await endLinks(run, email)
  await run(`update tenant_link set made_by = 'removed person' where made_by in ($1, $2)`, [id, email])
  await run(`update own_key set added_by = 'removed person' where added_by = $1`, [email])
  await run('delete from login where person_id = $1', [id])
  await run(`delete from alert_channel where kind = 'mail' and target = $1`, [email])
  await run('delete from scim_resource where person_id = $1', [id])
  const people = await changed(run, 'delete from person where id = $1', id)
  return { people, sessions, credentials, links, events: await forgetInEvents(run, id, email) }
}

const added = (all: readonly Forgotten[]): Forgotten => {
  const sums: Record<string, number> = {}
  for (const [name, count] of all.flatMap((one) => Object.entries(one)))
    sums[name] = (sums[name] ?? 0) + count
  return sums
}

const ownsAlone = `select m.org_id from member m where m.person_id = $1 and m.role = 'owner' and not exists
  (select 1 from member o where o.org_id = m.org_id and o.role = 'owner' and o.person_id <> $1)`

const forgetPersonOn = (engine: Engine, id: string, by: Parameters<ForgetStore['forgetPerson']>[1]) =>
  engine.transaction('control', async (run): ReturnType<ForgetStore['forgetPerson']> => {
    const { lock } = engine.dialect
    const [person] = await run(`select p.email from person p where p.id = $1${lock('p')}`, [id])
    if (person === undefined) return 'unknown'
    await run(
      `select m.person_id from member m where m.org_id in (select n.org_id from member n where n.person_id = $1)
       order by m.org_id, m.person_id${lock('m')}`,
      [id],
    )
    if ((await run(ownsAlone, [id])).length > 0) return 'last_owner'
    const done = await removePerson(run, id, textOf(person, 'email'))
    await recordIn(run, engine.dialect, { actor: by, orgId: 'people', what: 'person.removed', subject: id })
    return done
  })

/** `$1` is the organisation. */
const ofKeys = '(select k.id from api_key k where k.org_id = $1)'
const ofWallets = '(select a.id from account a where a.org_id = $1)'

/** What is removed of a customer, or loses what it said, by kind. */
const removals = (dialect: SqlDialect): Readonly<Record<string, string>> => ({
  answers: `delete from idempotency where key_id in ${ofKeys}`,
  items: `delete from kept_item where key_id in ${ofKeys}`,
  responses: `delete from kept_response where key_id in ${ofKeys}`,
  sizes: `delete from kept_size where key_id in ${ofKeys}`,
  // The server that holds the bytes deletes them, and then the row.
  files: `update asset set name = null, purpose = null, body = null, expires_at = 0 where key_id in ${ofKeys}`,
  jobs: `update run set facts = null, result = null, webhook = null, webhook_at = null
    where ended_at is not null and key_id in ${ofKeys}`,
  failures: `delete from failed_call where org_id = $1`,
  failure_counts: `delete from failed_day where org_id = $1`,
  reviews: 'delete from review where org_id = $1',
  tenant_links: 'delete from tenant_link where org_id = $1',
  bills: 'delete from bill where org_id = $1',
  logos: 'delete from biller_logo where org_id = $1',
  own_keys: 'delete from own_key where org_id = $1',
  data_keys: 'delete from own_data_key where org_id = $1',
  agent_settings: 'delete from agent_settings where org_id = $1',
  alerts: 'delete from alert where rule_id in (select r.id from alert_rule r where r.org_id = $1)',
  alert_rules: 'delete from alert_rule where org_id = $1',
  alert_channels: 'delete from alert_channel where org_id = $1',
  alert_deliveries: 'delete from alert_delivery where org_id = $1',
  tenant_billing: 'delete from tenant_billing where org_id = $1',
  team_people: 'delete from team_member where team_id in (select t.id from team t where t.org_id = $1)',
  team_settings: 'update team set settings = null where org_id = $1 and settings is not null',
  group_rules: 'delete from group_rule where org_id = $1',
  directory: 'delete from scim_resource where org_id = $1',
  biller: 'delete from biller where org_id = $1',
  notes: `update key_note set reference = null where key_id in ${ofKeys} and reference is not null`,
  keys: `update api_key set label = 'removed', aliases = null, version = version + 1, changed_at = ${dialect.now} where org_id = $1`,
  sub_wallets: `update sub_wallet set label = '' where wallet_id in ${ofWallets} and label <> ''`,
  rules: `update wallet_rules set rules = '{}', daily_limit = null, version = version + 1,
    changed_at = ${dialect.now} where wallet_id in ${ofWallets}`,
  cards: `update auto_top_up set customer = null, method = null where wallet_id in ${ofWallets}`,
  // What is due is not charged any more; if it was, its event finds it by its id.
  card_payments: `update top_up set customer = '', method = '', state = case when state = 'due' then 'stopped' else state end
    where state in ('due', 'credited', 'declined', 'stopped') and wallet_id in ${ofWallets}`,
  wallets: `update account set name = 'removed' where org_id = $1`,
  events: `update event set actor_name = case actor_kind when 'person' then 'removed person' else actor_name end,
    address = null, before = null, after = null, salt = null where org_id = $1`,
})

/** Keys `k` that are used here; those of an organisation that is elsewhere are deleted there. */
const isLive = `k.deleted = 0 and (k.cell is null or k.cell like '${LEAVING}%')`

const forgetCustomerOn = (
  engine: Engine,
  walletId: string,
  by: Parameters<ForgetStore['forgetCustomer']>[1],
) =>
  engine.transaction('control', async (run): ReturnType<ForgetStore['forgetCustomer']> => {
    const { dialect } = engine
    const [wallet] = await run(`select a.org_id, a.cell from account a where a.id = $1${dialect.lock('a')}`, [
      walletId,
    ])
    if (wallet === undefined) return 'unknown'
    if (maybeText(wallet, 'cell')?.startsWith(LEAVING) === true) mustBeHere(wallet, walletId)
    const orgId = textOf(wallet, 'org_id')
    const live = `select 1 as one from api_key k where k.org_id = $1 and ${isLive} limit 1`
    if ((await run(live, [orgId])).length > 0) return 'keys_live'
    const all: Forgotten[] = []
    const people = await run(
      `select p.id, p.email from person p join member m on m.person_id = p.id where m.org_id = $1 and p.operator = 0
         and not exists (select 1 from member o where o.person_id = p.id and o.org_id <> $1) order by p.id${dialect.lock('p')}`,
      [orgId],
    )
    for (const person of people)
      all.push(await removePerson(run, textOf(person, 'id'), textOf(person, 'email')))
    all.push({ memberships: await changed(run, 'delete from member where org_id = $1', orgId) })
    for (const [kind, text] of Object.entries(removals(dialect)))
      all.push({ [kind]: await changed(run, text, orgId) })
    await recordIn(run, dialect, { actor: by, orgId, what: 'customer.forgotten', subject: walletId })
    return added(all)
  })

export const forgetStore = (engine: Engine): ForgetStore => ({
  forgetPerson: (id, by) => forgetPersonOn(engine, id, by),
  keysToEnd: async (walletId) => {
    const text = `select k.id from api_key k join account a on a.org_id = k.org_id
      where a.id = $1 and ${isLive} order by k.id`
    return (await once(engine, 'control', text, walletId)).map((row) => textOf(row, 'id'))
  },
  forgetCustomer: (walletId, by) => forgetCustomerOn(engine, walletId, by),
})

/** Members of organisations and their roles, operators, and how often somebody tried to sign in. */
import { integer, oneOf, rowsOf, text, truth } from '../engine/columns.ts'
import { binding, type Engine, once, type Run, type SqlDialect } from '../engine/engine.ts'
import { countOf, onlyRow } from '../engine/row.ts'
import type { Actor } from './event-port.ts'
import { recordIn } from './event-store.ts'
import { type MemberStore, type Role, roles } from './people-port.ts'

const members = rowsOf({
  orgId: text('org_id'),
  personId: text('person_id'),
  role: oneOf('role', roles),
  name: text('name'),
  email: text('email'),
  operator: truth('operator'),
  createdAt: integer('created_at'),
})

type Membership = { readonly orgId: string; readonly personId: string }

/** The previous role, with all members of the organisation locked, and whether somebody else owns it. */
const lockRole = async (
  run: Run,
  dialect: SqlDialect,
  { orgId, personId }: Membership,
): Promise<{ role: string | undefined; othersOwn: boolean }> => {
  const rows = await run(
    `select m.person_id, m.role from member m where m.org_id = $1 order by m.person_id${dialect.lock('m')}`,
    [orgId],
  )
  const own = rows.find((row) => row.person_id === personId)
  return {
    role: typeof own?.role === 'string' ? own.role : undefined,
    othersOwn: rows.some((row) => row.person_id !== personId && row.role === 'owner'),
  }
}

/** Ids mean nothing to people, so readers of the record see the address. */
const emailOf = async (run: Run, personId: string): Promise<string | null> => {
  const [row] = await run('select email from person where id = $1', [personId])
  return typeof row?.email === 'string' ? row.email : null
}

const putOn = (engine: Engine, member: Membership & { readonly role: Role }, by: Actor) =>
  engine.transaction('control', async (run): Promise<'done' | 'last_owner'> => {
    const { orgId, personId, role } = member
    const before = await lockRole(run, engine.dialect, member)
    if (before.role === 'owner' && role !== 'owner' && !before.othersOwn) return 'last_owner'
    await run(
      `insert into member (org_id, person_id, role, created_at) values ($1, $2, $3, ${engine.dialect.now})
       on conflict (org_id, person_id) do update set role = excluded.role`,
      [orgId, personId, role],
    )
    await recordIn(run, engine.dialect, {
      actor: by,
      orgId,
      what: before.role === undefined ? 'member.added' : 'member.changed',
      subject: personId,
      ...(before.role === undefined ? {} : { before: { role: before.role } }),
      after: { email: await emailOf(run, personId), role },
    })
    return 'done'
  })

/** Somebody who leaves gets no more mails of the organisation's alerts. */
const endMail = async (run: Run, dialect: SqlDialect, orgId: string, email: string, actor: Actor) => {
  const mine = `delete from alert_channel where org_id = $1 and kind = 'mail' and target = $2 returning id, name`
  for (const { id, name: label } of await run(mine, [orgId, email])) {
    const subject = String(id)
    await run(`update alert_delivery set state = 'given_up' where channel_id = $1 and state = 'due'`, [
      subject,
    ])
    const before = { label: String(label), kind: 'mail' }
    await recordIn(run, dialect, { actor, orgId, what: 'alert_channel.deleted', subject, before })
  }
}

const removeOn = (engine: Engine, member: Membership, by: Actor) =>
  engine.transaction('control', async (run): Promise<'done' | 'unknown' | 'last_owner'> => {
    const { orgId, personId } = member
    const { role, othersOwn } = await lockRole(run, engine.dialect, member)
    if (role === undefined) return 'unknown'
    if (role === 'owner' && !othersOwn) return 'last_owner'
    await run('delete from member where org_id = $1 and person_id = $2', [orgId, personId])
    const teams = 'select t.id from team t where t.org_id = $1'
    await run(`delete from team_member where team_id in (${teams}) and person_id = $2`, [orgId, personId])
    const email = await emailOf(run, personId)
    await endMail(run, engine.dialect, orgId, email ?? '', by)
    await recordIn(run, engine.dialect, {
      actor: by,
      orgId,
      what: 'member.removed',
      subject: personId,
      before: { email, role },
    })
    return 'done'
  })

const attemptOn = async (engine: Engine, what: string, windowMs: number): Promise<number> => {
  const { now } = engine.dialect
  const window = `(${now} / ${Math.trunc(windowMs)}) * ${Math.trunc(windowMs)}`
  const [row] = await once(
    engine,
    'relaxed',
    `insert into sign_in_attempt (what, window_start, attempts) values ($1, ${window}, 1)
       on conflict (what) do update set
         attempts = case when sign_in_attempt.window_start = excluded.window_start then sign_in_attempt.attempts + 1 else 1 end,
         window_start = excluded.window_start
       returning attempts`,
    what,
  )
  return countOf(onlyRow(row === undefined ? [] : [row]), 'attempts')
}

const broughtOn = async (engine: Engine, what: string): Promise<number> => {
  const rows = await once(
    engine,
    'relaxed',
    `insert into sign_in_attempt (what, window_start, attempts) values ($1, ${engine.dialect.now}, 1)
       on conflict (what) do update set attempts = sign_in_attempt.attempts + 1 returning attempts`,
    what,
  )
  return countOf(onlyRow(rows), 'attempts')
}

export const memberStore = (engine: Engine): MemberStore => ({
  list: async ({ orgId, personId }) => {
    const { params, bind } = binding()
    const where = [
      '1 = 1',
      ...(orgId === undefined ? [] : [`m.org_id = ${bind(orgId)}`]),
      ...(personId === undefined ? [] : [`m.person_id = ${bind(personId)}`]),
    ]
    const rows = await once(
      engine,
      'control',
      `select m.org_id, m.person_id, m.role, m.created_at, p.name, p.email, p.operator
         from member m join person p on p.id = m.person_id where ${where.join(' and ')} order by p.email, m.org_id`,
      ...params,
    )
    return rows.map(members.read)
  },
  put: (member, by) => putOn(engine, member, by),
  remove: (member, by) => removeOn(engine, member, by),
  setOperator: (personId, operator, by) =>
    engine.transaction('control', async (run) => {
      await run('update person set operator = $2 where id = $1', [personId, operator ? 1 : 0])
      await recordIn(run, engine.dialect, {
        actor: by,
        orgId: 'operator',
        what: operator ? 'operator.added' : 'operator.removed',
        subject: personId,
      })
    }),
  chooseOrg: async (session, orgId) => {
    await once(engine, 'control', 'update person_session set org_id = $2 where token = $1', session, orgId)
  },
  attempt: (what, windowMs) => attemptOn(engine, what, windowMs),
  brought: (what) => broughtOn(engine, what),
  forgetAttempts: async (what) => {
    await once(engine, 'relaxed', 'delete from sign_in_attempt where what = $1', what)
  },
})

/** Teams: their people and what their agents are told. Their money is that of their sub-wallets. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { insertSub, subColumns, subRow } from '../accounts/sub-wallet-store.ts'
import { integer, json, maybe, oneOf, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Row, type Run } from '../engine/engine.ts'
import type { Actor } from './event-port.ts'
import { recordIn } from './event-store.ts'
import { type Team, type TeamStore, teamRoles } from './team-port.ts'

const asSettings = (value: Json): JsonObject => (isObject(value) ? value : {})

const teamRows = rowsOf({
  ...subRow,
  walletId: text('wallet_id'),
  settings: maybe(json('settings', asSettings)),
})
const ownRows = rowsOf({ id: text('id'), walletId: text('wallet_id'), role: oneOf('role', teamRoles) })
const members = rowsOf({
  teamId: text('team_id'),
  personId: text('person_id'),
  role: oneOf('role', teamRoles),
  name: text('name'),
  email: text('email'),
  joinedAt: integer('joined_at'),
})

/** `$1` is the organisation, `$2` a team or null for all of them. */
const TEAMS = `select ${subColumns}, s.wallet_id, t.settings from team t join sub_wallet s on s.id = t.id
  join budget b on b.scope = 'sub:' || s.id
  where t.org_id = $1 and t.id = coalesce($2, t.id) and s.deleted_at is null order by s.label, s.id`

type Place = { readonly orgId: string; readonly teamId: string }

/** Whether the organisation has the team. */
const isTeam = async (run: Run, { orgId, teamId }: Place): Promise<boolean> =>
  (await run(TEAMS, [orgId, teamId])).length > 0

const teamOf = (row: Row): Team => teamRows.read(row)

const putMember =
  (engine: Engine): TeamStore['putTeamMember'] =>
  (member, by) =>
    engine.transaction('control', async (run) => {
      const { dialect } = engine
      const { orgId, teamId, personId, role } = member
      // The membership of the organisation is locked, so that nobody joins a team who leaves at the same moment.
      const [person] = await run(
        `select m.person_id from member m where m.org_id = $1 and m.person_id = $2${dialect.lock('m')}`,
        [orgId, personId],
      )
      if (person === undefined || !(await isTeam(run, member))) return false
      await run(
        `insert into team_member (team_id, person_id, role, joined_at) values ($1, $2, $3, ${dialect.now})
         on conflict (team_id, person_id) do update set role = excluded.role`,
        [teamId, personId, role],
      )
      const after = { person: personId, role }
      await recordIn(run, dialect, { actor: by, orgId, what: 'team.member_put', subject: teamId, after })
      return true
    })

const removeMember =
  (engine: Engine): TeamStore['removeTeamMember'] =>
  ({ orgId, teamId, personId }, by) =>
    engine.transaction('control', async (run) => {
      const gone = await run(
        `delete from team_member where team_id = $1 and person_id = $2
           and team_id in (select t.id from team t where t.org_id = $3) returning team_id`,
        [teamId, personId, orgId],
      )
      if (gone.length === 0) return false
      const before = { person: personId }
      await recordIn(run, engine.dialect, {
        actor: by,
        orgId,
        what: 'team.member_removed',
        subject: teamId,
        before,
      })
      return true
    })

const setSettings =
  (engine: Engine): TeamStore['setTeamSettings'] =>
  (team, settings, by: Actor) =>
    engine.transaction('control', async (run) => {
      const { orgId, teamId } = team
      if (!(await isTeam(run, team))) return false
      const written = settings === undefined ? null : JSON.stringify(settings)
      await run('update team set settings = $2 where id = $1', [teamId, written])
      const after = settings ?? null
      await recordIn(run, engine.dialect, {
        actor: by,
        orgId,
        what: 'agent_settings.changed',
        subject: teamId,
        after,
      })
      return true
    })

export const teamStore = (engine: Engine): TeamStore => ({
  createTeam: ({ orgId, ...sub }, by) =>
    engine.transaction('control', async (run) => {
      if ((await insertSub(engine, run, sub, by)) === undefined) return undefined
      await run('insert into team (id, org_id) values ($1, $2) on conflict (id) do nothing', [sub.id, orgId])
      return (await run(TEAMS, [orgId, sub.id])).map(teamOf)[0]
    }),
  teams: async ({ orgId, id }) => (await once(engine, 'control', TEAMS, orgId, id ?? null)).map(teamOf),
  teamMembers: async (orgId) => {
    const asked = `select m.*, p.name, p.email from team_member m join team t on t.id = m.team_id
      join person p on p.id = m.person_id where t.org_id = $1 order by p.email, m.team_id`
    return (await once(engine, 'control', asked, orgId)).map(members.read)
  },
  teamsOf: async ({ orgId, personId }) => {
    const asked = `select t.id, s.wallet_id, m.role from team_member m join team t on t.id = m.team_id
      join sub_wallet s on s.id = t.id
      where m.person_id = $2 and t.org_id = $1 and s.deleted_at is null order by m.joined_at, t.id`
    return (await once(engine, 'control', asked, orgId, personId)).map(ownRows.read)
  },
  putTeamMember: putMember(engine),
  removeTeamMember: removeMember(engine),
  setTeamSettings: setSettings(engine),
})

/** Sign-ins of agents: each answer to a request is one statement, so that of two at once one counts. */
import { isObject } from '../../core/json-body.ts'
import { integer, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Run, statement } from '../engine/engine.ts'
import type { Expired } from '../engine/expire.ts'
import { countOf, textOf } from '../engine/row.ts'
import { recordIn } from './event-store.ts'
import type { LoginStore, Polled } from './login-port.ts'

const asked = {
  id: text('id'),
  userCode: text('user_code'),
  surface: text('surface'),
  address: text('address'),
  askedAt: integer('asked_at'),
  endsAt: integer('ends_at'),
} as const
const requests = rowsOf(asked)
const signedIn = rowsOf({
  ...asked,
  keyId: text('key_id'),
  personId: text('person_id'),
  orgId: text('org_id'),
}).read

/** An answer may be lost, so for a minute it is given again. */
const AGAIN_MS = 60_000

/** Requests and sign-ins that are over. */
export const expiredLogins = (now: string): Expired => ({
  table: 'login',
  key: 'device_hash',
  where: `x.ends_at < ${now}`,
})

const places = (values: readonly string[], from: number): string =>
  values.map((_value, at) => `$${from + at}`).join()

/** What a request's row says to the agent that polls, and what the poll makes of it. */
const pollOn = async (
  engine: Engine,
  run: Run,
  poll: Parameters<LoginStore['pollLogin']>[0],
): Promise<Polled> => {
  const { now, lock } = engine.dialect
  const { deviceHashes, refreshHash, everyMs, lifeMs } = poll
  const [row] = await run(
    `select l.*, ${now} as now from login l where l.device_hash in (${places(deviceHashes, 1)})${lock('l')}`,
    [...deviceHashes],
  )
  if (row === undefined || countOf(row, 'ends_at') <= countOf(row, 'now')) return 'expired_token'
  const set = (what: string, ...params: (string | number)[]) =>
    run(`update login set ${what} where device_hash = $1`, [textOf(row, 'device_hash'), ...params])
  const since = row.polled_at === null ? undefined : countOf(row, 'now') - countOf(row, 'polled_at')
  switch (textOf(row, 'state')) {
    case 'denied':
      return 'access_denied'
    case 'used':
      return row.refresh_hash === refreshHash && since !== undefined && since < AGAIN_MS
        ? signedIn(row)
        : 'expired_token'
    case 'approved':
      await set(
        `state = 'used', refresh_hash = $2, polled_at = ${now}, ends_at = ${now} + cast($3 as bigint)`,
        refreshHash,
        lifeMs,
      )
      return signedIn(row)
    default:
      await set(`polled_at = ${now}`)
      return since !== undefined && since < everyMs ? 'slow_down' : 'authorization_pending'
  }
}

export const loginStore = (engine: Engine): LoginStore => {
  const { dialect } = engine
  const { now } = dialect
  const open = `user_code = $1 and state = 'asked' and ends_at > ${now}`
  return {
    askLogin: async ({ id, deviceHash, userCode, surface, address, lifeMs }) => {
      const text = `insert into login (device_hash, user_code, surface, address, state, asked_at, ends_at, id)
        values ($1, $2, $3, $4, 'asked', ${now}, ${now} + cast($5 as bigint), $6)
        on conflict (user_code) do nothing returning user_code`
      const made = statement(text, deviceHash, userCode, surface, address, lifeMs, id)
      return (await once(engine, 'control', made)).length > 0
    },
    askedLogin: async (userCode) =>
      (await once(engine, 'control', `select * from login where ${open}`, userCode)).map(requests.read)[0],
    approveLogin: (userCode, { personId, orgId, keyId }, by) =>
      engine.transaction('control', async (run) => {
        const text = `update login set state = 'approved', person_id = $2, key_id = $3, org_id = $4 where ${open} returning surface`
        const [row] = await run(text, [userCode, personId, keyId, orgId])
        if (row === undefined) return false
        const after = { surface: textOf(row, 'surface'), key: keyId }
        await recordIn(run, dialect, { actor: by, orgId, what: 'login.approved', subject: personId, after })
        return true
      }),
    denyLogin: (userCode, orgId, by) =>
      engine.transaction('control', async (run) => {
        const text = `update login set state = 'denied' where ${open} returning surface`
        const [row] = await run(text, [userCode])
        if (row === undefined) return false
        const after = { surface: textOf(row, 'surface') }
        await recordIn(run, dialect, { actor: by, orgId, what: 'login.denied', subject: by.id, after })
        return true
      }),
    pollLogin: (poll) => engine.transaction('control', (run) => pollOn(engine, run, poll)),
    loginOf: async (hashes) => {
      const text = `select * from login where state = 'used' and ends_at > ${now} and refresh_hash in (${places(hashes, 1)})`
      return (await once(engine, 'control', text, ...hashes)).map(signedIn)[0]
    },
    logins: async ({ orgId, personId, id }) => {
      const text = `select * from login where org_id = $1 and state in ('approved', 'used') and ends_at > ${now}
        and person_id = coalesce($2, person_id) and id = coalesce($3, id) order by asked_at desc, id`
      const asking = statement(text, orgId, personId ?? null, id ?? null)
      return (await once(engine, 'control', asking)).map(signedIn)
    },
    endLogin: async (id) => {
      await once(engine, 'control', 'delete from login where id = $1', id)
    },
    agentSettings: async (orgId) => {
      const text = 'select settings from agent_settings where org_id = $1'
      const [row] = await once(engine, 'control', text, orgId)
      const settings = row === undefined ? undefined : JSON.parse(textOf(row, 'settings'))
      return isObject(settings) ? settings : undefined
    },
    setAgentSettings: (orgId, settings, by) =>
      engine.transaction('control', async (run) => {
        if (settings === undefined) await run('delete from agent_settings where org_id = $1', [orgId])
        else
          await run(
            `insert into agent_settings (org_id, settings, changed_at) values ($1, $2, ${now})
             on conflict (org_id) do update set settings = excluded.settings, changed_at = excluded.changed_at`,
            [orgId, JSON.stringify(settings)],
          )
        const after = settings ?? null
        await recordIn(run, dialect, {
          actor: by,
          orgId,
          what: 'agent_settings.changed',
          subject: orgId,
          after,
        })
      }),
  }
}

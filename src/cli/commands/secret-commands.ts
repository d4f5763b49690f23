/** `turnpike secret …`: what still depends on the previous secret while TURNPIKE_SECRET changes, and on another master of data keys. */
import type { Command } from 'commander'
import { encryptAnew } from '../../console/old-secret.ts'
import type { Log } from '../../core/log.ts'
import { messageOf } from '../../core/message-of.ts'
import { DAY_MS } from '../../core/time.ts'
import { sealAnew } from '../../gateway/parts/receipt-keys.ts'
import { ownKeyRing } from '../run/control.ts'
import { counted, type Database, Failed, onLedger, print, tableOf, under } from '../run/run-command.ts'

const MOST_SHOWN = 20
/** Answers under an Idempotency-Key, and sessions of the console. */
const REPEAT_MS = DAY_MS
const SESSION_MS = 7 * DAY_MS

/** What can move to the present secret at once does so at each start that has a previous one. */
export const moveSecrets = async (database: Database, log: Log): Promise<void> => {
  const { store, hash } = database
  if (hash.before === undefined) return
  try {
    await since({ store, hash })
    const receipts = await sealAnew({ store: store.receipts, hash })
    const factors = await encryptAnew(store.people, hash)
    await ownKeyRing(database).wrapAnew()
    if (receipts + factors > 0)
      log.warn('neither TURNPIKE_SECRET nor TURNPIKE_SECRET_OLD opens some receipt keys or second factors', {
        ops: receipts + factors,
      })
  } catch (error) {
    log.warn('not everything moved to the new TURNPIKE_SECRET; the next start tries again', {
      error: messageOf(error),
    })
  }
}

/** Says at a start that callers will be refused, rather than let their 401 be the first that is heard of it. */
export const warnOfStrangers = async ({ store, hash }: Omit<Database, 'config'>, log: Log): Promise<void> => {
  if (hash.id === undefined) return
  if (await store.keys.hashedByStrangers([hash.id, hash.before?.id ?? hash.id]))
    log.warn(
      'some keys were made under another TURNPIKE_SECRET and are unknown here; TURNPIKE_SECRET_OLD lets them in, see docs/changing.md',
    )
}

/** Which secret the servers of this ledger have: that of the one which started last. */
const SERVED_UNDER = 'secret of the servers'

/** Writes down at a start which secret makes hashes here; nothing can be found out about it from that. */
export const noteSecret = async ({ store, hash }: Pick<Database, 'store' | 'hash'>): Promise<void> => {
  if (hash.id !== undefined) await store.writeSetting(SERVED_UNDER, hash.id)
}

/** Throws Failed where the servers of the ledger would refuse what this process hashes. */
export const checkSecret = async ({ store, hash, config }: Database): Promise<void> => {
  const served = await store.readSetting(SERVED_UNDER)
  if (served === undefined || served === hash.id) return
  const wrong =
    config.secret === undefined
      ? 'TURNPIKE_SECRET is not set here, but the server has one'
      : 'TURNPIKE_SECRET here is not that of the server'
  throw new Failed(`${wrong}: it would answer 401 to this key; run the command with the server's settings`)
}

/** When a server first had the present secret beside the previous one. */
const since = async ({ store, hash }: Pick<Database, 'store' | 'hash'>): Promise<number> =>
  Number(await store.setting(`secret ${hash.id} since`, () => String(Date.now())))

export const secretCommands = (program: Command): void => {
  const secret = program.command('secret').description('the secret of the keys')
  secret
    .command('rotate')
    .description(
      "wrap organisations' data keys by the master of the settings, which another one wrapped; servers may run",
    )
    .option('--json', 'for programs')
    .action(onLedger((database, options: { json?: boolean }) => rotate(database, options.json)))
  under(secret, 'status', 'what still depends on TURNPIKE_SECRET_OLD; the exit code is 0 when nothing does')
    .option('--json', 'for programs')
    .action(onLedger((database, options: { json?: boolean }) => status(database, options.json)))
}

const rotate = async (database: Database, json: boolean | undefined): Promise<void> => {
  const done = await ownKeyRing(database).wrapAnew()
  const text = `${counted(done.wrapped, 'data key is', 'data keys are')} wrapped anew; ${done.left} cannot be opened with these settings.\n`
  print(json, done, text)
  if (done.left > 0) process.exitCode = 1
}

const status = async (database: Database, json: boolean | undefined): Promise<void> => {
  const { store, hash, config } = database
  const dataKeys = await ownKeyRing(database).otherwise()
  const wrappedText = `Wrapped by another master: ${counted(dataKeys, 'data key')} of organisations' own keys; turnpike secret rotate wraps all anew.\n`
  if (hash.before === undefined || hash.id === undefined) {
    if (dataKeys === 0) throw new Failed('TURNPIKE_SECRET_OLD is not set: there is one secret')
    print(json, { needed: false, data_keys: dataKeys }, wrappedText)
    process.exitCode = 1
    return
  }
  if (hash.id === hash.before.id) throw new Failed('TURNPIKE_SECRET_OLD is the same as TURNPIKE_SECRET')
  const { count, keys } = await store.keys.hashedOtherwise(hash.id, MOST_SHOWN)
  const from = await since(database)
  const { assets, gateway } = config
  const longest = Math.max(REPEAT_MS, SESSION_MS, assets.addressMs, gateway.runKeptMs)
  const until = Math.max(from + longest, await signInsEnd(store, from))
  const over = Date.now() >= until
  const machines = (await store.machines.list()).filter(
    ({ revoked, expiresAt, hashedBy }) =>
      !revoked && hashedBy !== hash.id && (expiresAt === undefined || expiresAt > Date.now()),
  )
  const idle = machines.map(({ id, prefix, label }) => ({ machine: id, prefix, label }))
  const needed = dataKeys > 0 || count > 0 || idle.length > 0 || !over
  const rows = keys.map(({ id, prefix, label, walletId }) => ({ key: id, prefix, label, wallet: walletId }))
  print(
    json,
    {
      needed,
      data_keys: dataKeys,
      keys: count,
      newest: rows,
      machines: idle,
      since: iso(from),
      until: iso(until),
    },
    [
      `${counted(count, 'key has', 'keys have')} not called since; each goes over when it does${count > keys.length ? ` (the newest ${keys.length})` : ''}.\n`,
      ...(count === 0 ? [] : [tableOf(rows)]),
      `${counted(idle.length, 'machine has', 'machines have')} not called since; each goes over when it does.\n`,
      ...(idle.length === 0 ? [] : [tableOf(idle)]),
      wrappedText,
      `Links to results, runs of callers without a key, repeats, sessions and sign-ins of agents from before ${iso(from)} end by ${iso(until)}${over ? ', which is over' : ''}.\n`,
      needed
        ? 'TURNPIKE_SECRET_OLD is still needed.\n'
        : 'TURNPIKE_SECRET_OLD is no longer needed: remove it and restart.\n',
    ].join(''),
  )
  if (needed) process.exitCode = 1
}

/** When the last sign-in of an agent ends that began before: its refresh token stays the same as long as it lasts. */
const signInsEnd = async ({ members, logins }: Database['store'], before: number): Promise<number> => {
  let last = 0
  for (const orgId of new Set((await members.list({})).map((member) => member.orgId)))
    for (const { askedAt, endsAt } of await logins.logins({ orgId }))
      if (askedAt < before) last = Math.max(last, endsAt)
  return last
}

const iso = (at: number): string => new Date(at).toISOString()

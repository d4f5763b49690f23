/** Events: written inside the transaction that they describe, and read newest first. */
import type { Json } from '../../core/json-body.ts'
import { integer, json, maybe, oneOf, rowsOf, text, truth } from '../engine/columns.ts'
import {
  binding,
  type Engine,
  once,
  type Row,
  type Run,
  type SqlDialect,
  statement,
} from '../engine/engine.ts'
import { onlyRow, textOf } from '../engine/row.ts'
import {
  type Actor,
  actorKinds,
  type Event,
  type EventQuery,
  type EventStore,
  type NewEvent,
} from './event-port.ts'

const same = (value: Json): Json => value

const events = rowsOf({
  id: text('id'),
  at: integer('at'),
  orgId: text('org_id'),
  kind: oneOf('actor_kind', ['person', 'command']),
  actsAs: maybe(oneOf('actor_as', actorKinds)),
  actorId: text('actor_id'),
  actorName: text('actor_name'),
  operator: truth('operator'),
  address: maybe(text('address')),
  what: text('what'),
  subject: text('subject'),
  before: maybe(json('before', same)),
  after: maybe(json('after', same)),
})

const eventOf = (row: Row): Event => {
  const { kind, actsAs, actorId, actorName, operator, address, ...event } = events.read(row)
  const actor = {
    kind: actsAs ?? kind,
    id: actorId,
    name: actorName,
    operator,
    ...(address === undefined ? {} : { address }),
  }
  return { ...event, actor }
}

/** What is neither person nor command is stored as a command; the column `actor_as` tells. */
const kindOf = ({ kind }: Actor) =>
  kind === 'person' || kind === 'command' ? { kind } : { kind: 'command' as const, actsAs: kind }

/** Writes an event in the transaction of the change that it describes. */
export const recordIn = async (run: Run, dialect: SqlDialect, event: NewEvent): Promise<void> => {
  const { actor, orgId, what, subject, before, after } = event
  const { text: insert, params } = events.insert(
    'event',
    {
      id: Bun.randomUUIDv7(),
      orgId,
      ...kindOf(actor),
      actorId: actor.id,
      actorName: actor.name,
      operator: actor.operator === true,
      address: actor.address,
      what,
      subject,
      before,
      after,
    },
    { at: dialect.now },
  )
  await run(insert, params)
}

type WalletEvent = Omit<NewEvent, 'actor' | 'orgId'> & {
  readonly by: Actor
  readonly walletId: string
}

/** The same for a wallet, under its organisation. */
export const recordOfWallet = async (
  run: Run,
  dialect: SqlDialect,
  { by, walletId, ...event }: WalletEvent,
): Promise<void> => {
  const row = onlyRow(await run('select org_id from account where id = $1', [walletId]))
  await recordIn(run, dialect, { ...event, actor: by, orgId: textOf(row, 'org_id') })
}

const listed = ({ orgId, about, before, most }: EventQuery) => {
  const { params, bind } = binding()
  const where = [
    ...(orgId === undefined ? [] : [`org_id = ${bind(orgId)}`]),
    ...(about === undefined ? [] : [`what = ${bind(about.what)} and subject = ${bind(about.subject)}`]),
    ...(before === undefined ? [] : [`id < ${bind(before)}`]),
  ]
  return statement(
    `select * from event ${where.length === 0 ? '' : `where ${where.join(' and ')}`} order by id desc limit ${bind(most)}`,
    ...params,
  )
}

export const eventStore = (engine: Engine): EventStore => ({
  record: (event) => engine.transaction('control', (run) => recordIn(run, engine.dialect, event)),
  list: async (query) => (await once(engine, 'control', listed(query))).map(eventOf),
})

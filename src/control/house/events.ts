/** The record of what people, keys, machines and commands did. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { isObject, present } from '../../core/json-body.ts'
import { actorKinds, type Event } from '../../store/people/event-port.ts'
import { type Acting, act } from '../act.ts'
import { orgOf } from '../org-of.ts'
import { count, isoOf, name } from '../read.ts'
import { time } from '../shown-key.ts'
import { reachesAll } from '../who.ts'

const values = z.record(z.string(), z.unknown()).nullable()

/** An event as every face shows it. */
export const eventShown = z.object({
  id: z.string(),
  at: time,
  org: z.string(),
  actor: z.string(),
  actor_id: z.string(),
  actor_kind: z.enum(actorKinds),
  operator: z.boolean(),
  address: z.string().nullable(),
  what: z.string(),
  subject: z.string(),
  before: values,
  after: values,
})

const shown = ({ id, at, orgId, actor, what, subject, before, after }: Event) => ({
  id,
  at: isoOf(at),
  org: orgId,
  actor: actor.name,
  actor_id: actor.id,
  actor_kind: actor.kind,
  operator: actor.operator === true,
  address: actor.address ?? null,
  what,
  subject,
  before: isObject(before) ? before : null,
  after: isObject(after) ? after : null,
})

/** Undefined for all, which only those see who reach the whole house. */
const orgIn = (acting: Acting, named: string | undefined): string | undefined =>
  named === undefined && reachesAll(acting.who) ? undefined : orgOf(acting, named)

export const eventList = act({
  name: 'event.list',
  summary: 'What was done in the organisation, or in all of them, newest first.',
  reads: ['events'],
  input: {
    organisation: name.optional(),
    before: name.optional().describe('The `id` of the last one before'),
    limit: count(1, 1_000),
  },
  shows: namedObject('EventList', { data: z.array(eventShown), has_more: z.boolean() }),
  does: async (acting, { organisation, before, limit = 100 }) => {
    const orgId = orgIn(acting, organisation)
    const found = await acting.control.store.events.list({
      ...present({ orgId, before }),
      most: limit + 1,
    })
    return { data: found.slice(0, limit).map(shown), has_more: found.length > limit }
  },
})

/** The team and the activity. */
import { z } from 'zod'
import { roles } from '../../store/people/people-port.ts'
import { email } from './session.ts'
import { instant, linkGiven } from './shared.ts'

const role = z.enum(roles, `must be one of ${roles.join(', ')}`)

export const team = z
  .object({
    data: z.array(
      z.object({ id: z.string(), name: z.string(), email: z.string(), role: z.enum(roles), since: instant }),
    ),
    may_invite: z.boolean(),
  })
  .meta({ id: 'ConsoleTeam' })
export type TeamShown = z.output<typeof team>

export const inviteBody = z.strictObject({ email, role }).meta({ id: 'ConsoleInvite' })
export const invited = linkGiven.extend({ id: z.string() }).meta({ id: 'ConsoleInvited' })
export type InvitedShown = z.output<typeof invited>
export const roleBody = z.strictObject({ role }).meta({ id: 'ConsoleRole' })

export const events = z
  .object({
    data: z.array(
      z.object({
        id: z.string(),
        at: instant,
        org: z.string(),
        actor: z.string(),
        actor_kind: z.enum(['person', 'command']),
        operator: z.boolean(),
        address: z.string().nullable(),
        what: z.string(),
        subject: z.string(),
        before: z.record(z.string(), z.unknown()).nullable(),
        after: z.record(z.string(), z.unknown()).nullable(),
      }),
    ),
    has_more: z.boolean(),
  })
  .meta({ id: 'ConsoleEvents' })
export type EventsShown = z.output<typeof events>

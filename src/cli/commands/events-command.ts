/** `turnpike events`: what was done. */
import type { Command } from 'commander'
import type { z } from 'zod'
import { eventChain } from '../../control/house/event-chain.ts'
import { eventList, type eventShown } from '../../control/house/events.ts'
import { OF_PEOPLE } from '../../control/people/persons.ts'
import { present } from '../../core/json-body.ts'
import { performAs } from '../run/control.ts'
import { type Database, Failed, onLedger, print, tableOf, under } from '../run/run-command.ts'

/** Fails if there is no such organisation. */
export const checkOrg = async ({ reports }: Database['store'], org: string): Promise<void> => {
  if ((await reports.walletsOf(org)).length === 0)
    throw new Failed(`there is no organisation '${org}'; 'turnpike wallet list' shows them`)
}

const asRecorded = (event: z.output<typeof eventShown>) => {
  const { id, at, org: orgId, what, subject, before, after, operator, address } = event
  const actor = {
    kind: event.actor_kind,
    id: event.actor_id,
    name: event.actor,
    ...(address === null ? {} : { address }),
    ...(operator ? { operator } : {}),
  }
  const changed = { ...(before === null ? {} : { before }), ...(after === null ? {} : { after }) }
  return { id, at, orgId, actor, what, subject, ...changed }
}

type Options = { readonly [Name in 'org' | 'before' | 'limit']?: string } & {
  readonly chain?: boolean
  readonly json?: boolean
}

/** Links first, then the signed heads. */
const printChain = async (database: Database): Promise<void> => {
  let heads: readonly string[] = []
  for (let after = 0, more = true; more; ) {
    const page = await performAs('events', database, eventChain, { after })
    for (const link of page.data) process.stdout.write(`${JSON.stringify(link)}\n`)
    ;[after, more, heads] = [page.data.at(-1)?.seq ?? after, page.has_more, page.heads]
  }
  for (const head of heads) process.stdout.write(`${JSON.stringify({ head })}\n`)
}

export const eventsCommand = (program: Command): void => {
  under(program, 'events', 'what people and commands did to money, keys, limits and people, newest first')
    .option('--org <id>', "of one organisation; 'people' for what they did to their own sign-in")
    .option('--before <id>', 'only those before this one')
    .option('--limit <n>', 'the most rows', '1000')
    .option('--chain', 'the whole chain, one JSON document a line, for who checks it elsewhere')
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, { org, before, limit, chain, json }: Options) => {
        if (chain === true) return printChain(database)
        if (org !== undefined && org !== OF_PEOPLE) await checkOrg(database.store, org)
        const input = present({ organisation: org, before, limit })
        const { data, has_more: more } = await performAs('events', database, eventList, input)
        const rows = data.map(({ at, org: organisation, actor: by, what, subject }) => ({
          at,
          organisation,
          by,
          what,
          subject,
        }))
        const end = more ? `older ones: --before ${data.at(-1)?.id}\n` : ''
        print(json, data.map(asRecorded), `${tableOf(rows)}${end}`)
        // The list for programs has no place for it.
        if (json === true) process.stderr.write(end)
      }),
    )
}

/** An act whose event cannot be written is not done: both stand in one transaction. */
import { expect, test } from 'bun:test'
import { openView, type View } from '../chaos/view.ts'
import { engines } from '../store/engines.ts'
import { everyAct } from './faces.ts'
import { apart, exampleOf } from './inputs.ts'
import { startScene } from './scene.ts'

/** How each engine is told to take no event of a machine. */
const refusing = {
  sqlite: `create trigger law_no_events before insert on event when new.actor_as = 'machine'
    begin select raise(abort, 'no event'); end`,
  postgres: `alter table event add constraint law_no_events check (actor_as is distinct from 'machine') not valid`,
} as const

/** What acts change: every table but those of processes, rates and sessions. */
const tables = [
  'api_key',
  'key_line',
  'key_note',
  'budget',
  'machine',
  'tenant_margin',
  'tenant_link',
  'biller',
  'biller_logo',
  'tenant_billing',
  'bill',
  'sub_wallet',
  'account',
  'credit_line',
  'wallet_rules',
  'member',
  'transfer',
  'batch',
  'batch_line',
  'alert_rule',
  'alert_channel',
  'alert_delivery',
]

/** Of tables that calls change too, what they leave alone. */
const partOf: Readonly<Record<string, string>> = {
  budget: 'select scope, lim, tolerated from budget',
  account: 'select id, bounded, org_id, name from account',
  transfer: "select * from transfer where kind <> 'usage'",
}

const contentOf = async (view: View): Promise<string> => {
  const all: string[] = []
  for (const name of tables)
    all.push(
      ...(await view.rows(partOf[name] ?? `select * from ${name}`))
        .map((row) => `${name} ${JSON.stringify(row)}`)
        .sort(),
    )
  return all.join('\n')
}

for (const engine of engines.filter(({ lasting }) => lasting))
  test(`no act is done without its event, ${engine.name}`, async () => {
    const scene = await startScene(engine, { ledgerFails: true })
    const view = openView(scene.it.url)
    const machine = scene.actors.find(({ name }) => name === 'machine: of the house')
    const inputs = await Promise.all(
      everyAct
        .filter(({ name }) => !apart.includes(name))
        .map(async (act) => [act, await exampleOf(act, scene)] as const),
    )
    await view.rows(refusing[scene.it.url.startsWith('sqlite') ? 'sqlite' : 'postgres'])
    const before = await contentOf(view)
    const done: string[] = []
    for (const [act, input] of inputs) {
      const outcome = await machine?.ask(act, input)
      if (outcome === undefined || 'value' in outcome || outcome.status < 500) done.push(act.name)
    }
    expect(done).toEqual([])
    expect(await contentOf(view)).toBe(before)
    await view.close()
    await scene.stop()
  })

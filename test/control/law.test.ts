/**
 * The law of the control plane, over all acts, faces and actors: by equal reach the same input gives the same refusal and
 * the same value, and what an act changes is recorded once, in the name of who did it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { consoleRoutes } from '../../src/console/routes.ts'
import type { AnyAct } from '../../src/control/act.ts'
import { scimList } from '../../src/control/directory/scim.ts'
import { everyRight } from '../../src/control/rights.ts'
import type { JsonObject } from '../../src/core/json-body.ts'
import { drawn } from '../sample.ts'
import { seed } from '../seed.ts'
import { serverEngines } from '../store/engines.ts'
import { everyAct, type Outcome, ofTheHouse } from './faces.ts'
import { apart, type Change, changesOf, exampleOf } from './inputs.ts'
import { type Scene, startScene, type TestActor } from './scene.ts'

const RUNS = { 'SQLite in memory': drawn(3, 12), PostgreSQL: drawn(1, 3) } as Readonly<Record<string, number>>

test('each act needs a right, and each right is asked for somewhere', () => {
  for (const { name, may } of everyAct)
    expect([name, may.length > 0, may.every((one) => everyRight.includes(one))]).toEqual([name, true, true])
  const asked = new Set([
    ...everyAct.flatMap(({ may }) => may),
    // Directories have addresses of their own: scim.test.ts.
    ...scimList.may,
    ...consoleRoutes.flatMap(({ audience }) => (typeof audience === 'object' ? audience : [])),
  ])
  expect(everyRight.filter((right) => !asked.has(right))).toEqual([])
})

/** What is new in each answer, who made it, and what the acts of others before have changed. */
const passing = new Set(
  'prefix made_by added_by links link origin version memory_mb balance_usd available_usd spent_30d_usd kid url base64'.split(
    ' ',
  ),
)

const common = (value: unknown): string =>
  JSON.stringify(value, (name, one) => (passing.has(name) ? undefined : one))
    .replaceAll(/\b(key|mac|org|wal|sub|chk|bill|batch|alert|chan|vk)_[\w-]+/g, '$1')
    .replaceAll(/\b(sk|tm|tl)-[\w-]+/g, '$1')
    .replaceAll(/\bL-\d{4,}/g, 'number')
    .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'id')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')

const saidBy = (outcome: Outcome, codeOnly: boolean): string =>
  'value' in outcome ? common(outcome.value) : codeOnly ? outcome.code : `${outcome.code}: ${outcome.message}`

/** The session of a person says the organisation and the wallet; the pages of the house name a wallet. */
const forActor = (act: AnyAct, { kind }: TestActor, input: Awaited<ReturnType<typeof exampleOf>>) =>
  kind !== 'person'
    ? input
    : Object.fromEntries(
        Object.entries(input).filter(
          ([name]) => name !== 'organisation' && (name !== 'wallet' || ofTheHouse(act)),
        ),
      )

/** What the actor reaches by that act. */
const reachOf = (act: AnyAct, { operator, reach = 'key' }: TestActor) =>
  operator === true && ofTheHouse(act) ? 'house' : reach

const play = async (scene: Scene, act: AnyAct, actor: TestActor, change: Change) => {
  const input = change.of(await exampleOf(act, scene))
  await scene.news()
  const outcome = await actor.ask(act, forActor(act, actor, input))
  return outcome === undefined ? undefined : { input, outcome, events: await scene.news() }
}

/** Only who reaches the whole house does these. */
const ofAll: readonly string[] = [
  'organisation.create',
  'organisation.forget',
  'roll_up.run',
  'person.operator',
  'system.get',
  'vendor.list',
  'payer.list',
  'payer.get',
  'vendor.key_add',
  'vendor.key_remove',
  'setup.get',
  'audit.run',
  'config.get',
  'config.apply',
  'receipt_key.rotate',
  'receipt_key.revoke',
  'event.chain',
  'event.audit',
]

/** How many things an act changes, if not one: an organisation, and its owner. */
const things: Readonly<Record<string, number>> = { 'organisation.create': 2 }
const thingsOf = ({ name }: AnyAct): number => things[name] ?? 1

/** How many events of this actor there are to be. */
const eventsOf = (
  act: AnyAct,
  { kind }: TestActor,
  { input, outcome }: { input: JsonObject; outcome: Outcome },
): readonly number[] => {
  if (!('value' in outcome)) return [0]
  // A team's month is a budget beside the team, and has its own event.
  const most = thingsOf(act) + (act.name.startsWith('team.') && 'monthly_cap_usd' in input ? 1 : 0)
  if (kind === 'machine') return [1, thingsOf(act), most]
  // Where all is as it should be, a change changes nothing.
  return act.changes ? [0, thingsOf(act), most] : [0]
}

const checkEvents = (
  act: AnyAct,
  actor: TestActor,
  played: NonNullable<Awaited<ReturnType<typeof play>>>,
) => {
  const { kind, id, operator = false } = actor
  const { events } = played
  expect(eventsOf(act, actor, played)).toContain(events.length)
  for (const event of events) {
    expect(event.actor).toMatchObject({ kind, id, operator })
    if (!act.changes) expect(event.what).toBe(act.name)
  }
}

for (const engine of serverEngines)
  describe(`acts on ${engine.name}, SEED=${seed}`, () => {
    let scene: Scene
    beforeAll(async () => {
      scene = await startScene(engine)
    })
    afterAll(() => scene.stop())

    for (const act of everyAct.filter(({ name }) => !apart.includes(name)))
      test(`${act.name}: every face says and records the same`, async () => {
        let done = 0
        for (const change of changesOf(act, RUNS[engine.name] ?? 1)) {
          const said = new Map<string, string>()
          for (const actor of scene.actors) {
            if (actor.reach === undefined) continue
            // An admin does not pay.
            if (actor.name === 'person: admin' && act.may.includes('wallet')) continue
            if (ofAll.includes(act.name) && reachOf(act, actor) !== 'house') continue
            const played = await play(scene, act, actor, change)
            if (played === undefined) continue
            const { outcome, events } = played
            try {
              checkEvents(act, actor, played)
              const found = 'code' in outcome && outcome.code === 'not_found'
              // A key hears what it could name, and lists what is below it.
              const lists = act.name.endsWith('.list')
              const alone = change.alike === 'within a reach' || lists || (found && actor.reach === 'key')
              const group = alone ? reachOf(act, actor) : 'all'
              const text = saidBy(outcome, change.codeOnly === true)
              expect(text).toBe(said.get(group) ?? text)
              said.set(group, text)
              if (change.name === 'as it is') {
                expect(outcome).toHaveProperty('value')
                if (act.changes) expect(events.length).toBe(thingsOf(act))
                done += 1
              }
            } catch (error) {
              throw new Error(`${act.name}, ${change.name}, ${actor.name}: ${JSON.stringify(outcome)}`, {
                cause: error,
              })
            }
          }
        }
        expect(done).toBeGreaterThan(0)
      })

    test('lesser actors are refused each change, and leave no event of it', async () => {
      const asItIs: Change = { name: 'as it is', alike: 'all', of: (input) => input }
      const wrong: string[] = []
      for (const actor of scene.actors)
        for (const act of everyAct) {
          const named = ['key', 'parent', 'tenant', 'machine', 'person', 'sub_wallet', 'own_key']
          const ofTeam = act.input.team?.safeParse(undefined).success === false
          const names = ofTeam || named.some((name) => Object.hasOwn(act.input, name))
          // A person's own organisation is not in the input: what names nothing is about that.
          // Who looks after the bills may pay, and bill.
          const pays = act.may.includes('wallet') || act.may.includes('invoices')
          if (apart.includes(act.name) || (actor.name === 'person: billing' && pays)) continue
          if (actor.codes === undefined || (actor.name === 'person: owner elsewhere' && !names)) continue
          const played = await play(scene, act, actor, asItIs)
          if (played === undefined) continue
          const { outcome, events } = played
          const refused = 'code' in outcome && actor.codes.includes(outcome.code)
          const own = events.every((event) => event.actor.id === actor.id && event.what === act.name)
          if ((act.changes && !(refused && events.length === 0)) || !own)
            wrong.push(`${actor.name} ${act.name} ${JSON.stringify(outcome).slice(0, 200)} ${events.length}`)
        }
      expect(wrong).toEqual([])
    })
  })

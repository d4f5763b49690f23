/**
 * One version replaces another on one PostgreSQL while calls run. Both serve at the same time, one process of each is
 * killed with calls open, and at the end the books of ledger, vendor and callers are compared.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { untilRecovered } from '../chaos/checks.ts'
import { dueOf } from '../chaos/load.ts'
import { type Note, startUpstream } from '../chaos/upstream.ts'
import { openView } from '../chaos/view.ts'
import { runCommand, type Settings, startProgram } from '../program.ts'
import { until } from '../until.ts'
import { type Callers, type Place, startCallers } from './callers.ts'
import type { Package } from './packages.ts'

type Roll = {
  readonly url: string
  /** A folder for the files of the processes, which the caller removes. */
  readonly home: string
  readonly before: Package
  readonly after: Package
  /** Who makes the ledger, if not the older one: a ledger of the version before keeps its record of how it was made. */
  readonly madeBy?: Package
  /** Whether a process of the older version may start when the newer one has changed the schema. */
  readonly again: boolean
}

export type Rolled = {
  /** What is wrong; nothing, if all is well. */
  readonly broken: readonly string[]
  readonly answers: number
  readonly cutOff: number
  readonly charged: bigint
}

type Running = Place & { readonly of: Package; readonly child: Bun.Subprocess }

/** How many calls each process answers between two changes. */
const ENOUGH = 20
/** How many calls at least are open at a process that is killed. */
const OPEN_LEAST = 2

/** Plays the whole change and returns its outcome. */
export const roll = async ({ url, home, before, after, again, madeBy = before }: Roll): Promise<Rolled> => {
  const vendor = startUpstream()
  writeFileSync(
    join(home, 'turnpike.yaml'),
    `vendors:\n  mock:\n    base_url: http://127.0.0.1:${vendor.port}/v1\n    models:\n      m: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 4000 }\n`,
  )
  const settings: Settings = {
    DATABASE_URL: url,
    FIRST_FUND_USD: '1000',
    PLAN_RPM: '1000000',
    KEY_SHARE_PERCENT: '100',
    TOTAL_SECONDS: '10',
    DRAIN_SECONDS: '60',
    LOG: 'error',
  }
  const places: Running[] = []
  const start = async (of: Package): Promise<string> => {
    const { child, address, token } = await startProgram(home, settings, 'inherit', of.program)
    if (address === '') throw new Error(`${of.name} did not start`)
    places.push({ of, child, address, name: of.name, open: 0, answers: 0, killed: false })
    return token
  }
  const token = await start(madeBy)
  await start(before)
  const callers = startCallers(places, token)
  const more = async (): Promise<void> => {
    const due = places.map((place) => [place, place.answers + ENOUGH] as const)
    await until(() => callers.lost.length > 0 || due.every(([place, answers]) => place.answers >= answers))
  }
  const leave = (of: Package): Running => {
    const at = places.findIndex((place) => place.of === of)
    const [place] = places.splice(at, 1)
    if (at < 0 || place === undefined) throw new Error(`no process of ${of.name} is left`)
    return place
  }
  const kill = async (of: Package): Promise<void> => {
    await until(() => places.some((place) => place.of === of && place.open >= OPEN_LEAST), 1)
    places.sort((a, b) => b.open - a.open)
    const place = leave(of)
    place.killed = true
    place.child.kill('SIGKILL')
    await place.child.exited
  }
  const end = async (of: Package): Promise<void> => {
    const { child, name } = leave(of)
    child.kill('SIGTERM')
    const code = await child.exited
    if (code !== 0) throw new Error(`${name} ended with ${code}`)
  }

  try {
    if (madeBy !== before) {
      await start(before)
      await end(madeBy)
    }
    await more()
    await start(after)
    await more()
    await kill(before)
    await more()
    if (again) await start(before)
    await start(after)
    await more()
    await kill(after)
    await start(after)
    await more()
    await end(before)
    if (again) await end(before)
    await more()
  } finally {
    await callers.stop()
  }
  await untilRecovered(url)
  const audit = await runCommand(after.program, home, settings, 'audit')
  while (places.length > 0) await end(after)
  const books = await compare(url, callers, vendor.notes)
  vendor.stop()
  const held = audit.code === 0 ? [] : [`audit: ${audit.out} ${audit.errors}`]
  return { ...books, broken: [...callers.lost, ...held, ...books.broken] }
}

/** Compares the ledger with what the vendor gave and the callers got. */
const compare = async (
  url: string,
  { answered, cutOff, refused }: Callers,
  notes: ReadonlyMap<string, Note>,
): Promise<Rolled> => {
  const view = openView(url)
  const rows = await view.rows(`select ref, kind, amount from transfer where kind in ('usage', 'writeoff')`)
  const [left] = await view.rows(
    `select (select count(*) from inflight) as calls, (select coalesce(sum(held), 0) from account) as held`,
  )
  await view.close()
  const broken: string[] = []
  const bills = Map.groupBy(rows, ({ ref }) => ref ?? '')
  let charged = 0n
  for (const { callId, order, cost } of answered) {
    const own = bills.get(callId) ?? []
    bills.delete(callId)
    const amount = BigInt(own[0]?.amount ?? 0)
    charged += amount
    if (own.length !== 1 || amount !== cost || notes.get(order.id)?.finished !== true)
      broken.push(`call ${callId}: told ${cost}, booked ${own.map((one) => one.amount).join(', ')}`)
  }
  const given = answered.reduce((sum, { order }) => sum + dueOf(order), 0n)
  if (given !== charged) broken.push(`the vendor gave ${given}, the ledger charged ${charged}`)
  // Calls whose caller never learnt their end are charged for what came of them, or not at all.
  const unanswered = new Map([...cutOff, ...refused])
  const others = [...bills.values()].flat()
  const most = [...unanswered.values()].reduce((sum, bound) => sum + bound, 0n)
  const theirs = others.reduce((sum, { amount }) => sum + BigInt(amount ?? 0), 0n)
  if (others.length > unanswered.size || theirs > most)
    broken.push(`${others.length} charges of ${theirs} for ${unanswered.size} calls without an answer`)
  const known = new Set([...answered.map(({ order }) => order.id), ...unanswered.keys()])
  const unknown = [...notes.keys()].filter((id) => !known.has(id))
  if (unknown.length > 0) broken.push(`the vendor was asked for ${unknown.length} calls that nobody made`)
  if (left?.calls !== '0' || left.held !== '0') broken.push(`left open: ${JSON.stringify(left)}`)
  return { broken, answers: answered.length, cutOff: cutOff.size, charged }
}

/** Every address that tells a figure, asked at one moment and compared with a test's own books. */
import { expect } from 'bun:test'
import { tmpdir } from 'node:os'
import { runProgram } from '../program.ts'
import { jsonOf, METRICS_TOKEN } from '../server/harness.ts'
import {
  backOf,
  dayOf,
  entriesOf,
  monthOf,
  nano,
  netOf,
  type OwnCharge,
  type OwnKey,
  sumOf,
  sumsBy,
  toldBy,
  weekOf,
} from './own-books.ts'
import type { TestConsole, Visitor } from './rig.ts'

export type Scene = {
  readonly it: TestConsole
  readonly owner: Visitor
  readonly charges: readonly OwnCharge[]
  readonly keys: readonly OwnKey[]
  /** What jobs hold; nothing else is open. */
  readonly held: bigint
  readonly now: number
}

const DAY = 86_400_000

const of = async ({ owner }: Scene, path: string) => {
  const response = await owner.ask('GET', path)
  expect([path, response.status]).toEqual([path, 200])
  return jsonOf(response)
}

/** The lines of a CSV as objects. */
const linesOf = async ({ owner }: Scene, path: string) => {
  const [head = '', ...lines] = (await (await owner.ask('GET', path)).text()).trim().split('\r\n')
  const names = head.split(',')
  return lines.map((line): Record<string, string> => {
    const cells = line.split(',')
    return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? '']))
  })
}

const counted = (lines: readonly Record<string, string>[]) =>
  lines.map((line) => ({ ...line, requests: Number(line.requests), cost_usd: line.cost_usd }))

const inMonth = <One extends { readonly at: number }>(all: readonly One[], month: string): readonly One[] =>
  all.filter(({ at }) => monthOf(at) === month)

/** What a key is told that it has spent, in all and in this month, week and day, as its caps count. */
const spentOf = (told: Record<string, unknown>) =>
  [told.spent_usd, told.spent_this_month_usd, told.spent_this_week_usd, told.spent_today_usd].map(nano)

const netsOf = (own: Scene['charges'], now: number) =>
  [
    () => true,
    ({ at }: { at: number }) => monthOf(at) === monthOf(now),
    ({ at }: { at: number }) => weekOf(at) === weekOf(now),
    ({ at }: { at: number }) => dayOf(at) === dayOf(now),
  ].map((isIn) => netOf(own.filter(isIn)))

/** The overview, the lists of keys and calls, and the wallet. */
const checkPages = async (scene: Scene): Promise<void> => {
  const { it, charges, keys, held, now } = scene
  const entries = entriesOf(charges)
  const shown = await of(scene, '/overview')
  expect({
    today: nano(shown.spent_today_usd),
    month: nano(shown.spent_this_month_usd),
    held: nano(shown.held_usd),
    balance: nano(shown.balance_usd),
  }).toEqual({
    today: sumOf(entries.filter(({ at }) => dayOf(at) === dayOf(now))),
    month: sumOf(inMonth(entries, monthOf(now))),
    held,
    balance: await it.balance(),
  })
  const listed = (await of(scene, '/keys?which=all&limit=100')).data as Record<string, unknown>[]
  for (const { id, counts, gone } of keys) {
    if (gone) continue
    const own = charges.filter(({ keyId }) => counts.includes(keyId))
    const line = listed.find((one) => one.id === id)
    expect([id, ...spentOf(line ?? {})]).toEqual([id, ...netsOf(own, now)])
  }
  const ended = (await of(scene, '/calls?limit=500')).data as Record<string, unknown>[]
  const calls = ended.filter(({ code }) => code === null)
  expect(
    Object.fromEntries(calls.map((one) => [one.id, [one.cost_usd, one.refunded_usd].map(nano)])),
  ).toEqual(Object.fromEntries(charges.map((charge) => [charge.id, [charge.amount, backOf(charge)]])))
  const { data } = await of(scene, '/wallet/movements?limit=500')
  const moved = (data as Record<string, string>[]).filter(({ kind }) => kind === 'usage')
  const gross = Map.groupBy(
    charges.filter(({ onCredit }) => !onCredit),
    ({ at }) => dayOf(at),
  )
  expect(
    Object.fromEntries(moved.map(({ at = '', amount_usd }) => [at.slice(0, 10), -nano(amount_usd)])),
  ).toEqual(
    Object.fromEntries(
      [...gross].map(([day, those]) => [day, those.reduce((sum, { amount }) => sum + amount, 0n)]),
    ),
  )
}

/** Reports and statements of each month, as pages and as CSV, and the operator's. */
const checkReports = async (scene: Scene): Promise<void> => {
  const { it, charges, keys, now } = scene
  const entries = entriesOf(charges)
  const months = [...new Set(charges.map(({ at }) => monthOf(at)))]
  const span = `from=${months[0]}-01&to=${dayOf(now + DAY)}`
  for (const group of ['day', 'month'] as const) {
    const by = (at: number) => (group === 'day' ? dayOf(at) : monthOf(at))
    const own = sumsBy(entries, ({ at, keyId }) => `${by(at)} ${keyId}`)
    const page = await of(scene, `/usage?${span}&group_by=${group},key`)
    expect(toldBy(page.rows, (line: any) => `${line[group]} ${line.key}`)).toEqual(own)
    const csv = counted(await linesOf(scene, `/usage.csv?${span}&group_by=${group},key`)) as any[]
    expect(toldBy(csv, (line) => `${line[group]} ${line.key}`)).toEqual(own)
    expect(toldBy([page.total], () => 'all')).toEqual(sumsBy(entries, () => 'all'))
  }
  const tenantOf = new Map(keys.flatMap(({ counts, tenant }) => counts.map((id) => [id, tenant] as const)))
  for (const month of months) {
    const own = sumsBy(
      inMonth(entries, month).filter(({ keyId }) => tenantOf.get(keyId) !== undefined),
      ({ keyId }) => tenantOf.get(keyId) ?? '',
    )
    const page = await of(scene, `/statement?month=${month}`)
    const totals = page.tenants.map(({ label, total }: any) => ({ label, ...total }))
    expect(toldBy(totals, ({ label }: any) => label)).toEqual(own)
    const csv = counted(await linesOf(scene, `/statement.csv?month=${month}`)) as any[]
    expect(toldBy(csv, ({ tenant }) => tenant)).toEqual(own)
    const line = await it.store.credit.statement(it.wallet, month)
    expect([month, line?.used]).toEqual([month, sumOf(inMonth(entries, month).filter((one) => one.onCredit))])
  }
}

/** What `turnpike usage` prints of each month, run as an operator runs it beside the server. */
export const checkCommand = async ({ charges }: Scene, databaseUrl: string): Promise<void> => {
  const entries = entriesOf(charges)
  for (const month of new Set(charges.map(({ at }) => monthOf(at)))) {
    const next = monthOf(Date.parse(`${month}-01`) + 32 * DAY)
    const span = ['--from', `${month}-01`, '--to', `${next}-01`]
    const settings = { DATABASE_URL: databaseUrl }
    const { code, out, errors } = await runProgram(
      tmpdir(),
      settings,
      'usage',
      ...span,
      '--by',
      'day',
      '--json',
    )
    expect([code, errors]).toEqual([0, ''])
    expect(toldBy(JSON.parse(out), ({ day }: any) => day)).toEqual(
      sumsBy(inMonth(entries, month), ({ at }) => dayOf(at)),
    )
  }
}

/** What each living key is told about itself and the keys below it. */
const checkKeys = async ({ it, charges, keys, now }: Scene): Promise<void> => {
  for (const { id, token, counts, gone } of keys) {
    if (gone) continue
    const own = charges.filter(({ keyId }) => counts.includes(keyId))
    const { data } = await jsonOf(await it.get('/v1/key/wholesale/me/usage', token))
    expect([id, data.requests, ...spentOf(data)]).toEqual([id, own.length, ...netsOf(own, now)])
    const month = `from=${monthOf(now)}-01&to=${dayOf(now + DAY)}`
    const told = await jsonOf(await it.get(`/v1/usage?${month}&group_by=day,key`, token))
    expect(toldBy(told.data.rows, (line: any) => `${line.day} ${line.key}`)).toEqual(
      sumsBy(inMonth(entriesOf(own), monthOf(now)), ({ at, keyId }) => `${dayOf(at)} ${keyId}`),
    )
  }
}

/** The sum of a family's series. */
const seriesOf = (text: string, name: string): bigint =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .reduce((sum, line) => sum + nano(Number(line.split(' ').at(-1))), 0n)

const checkMetrics = async ({ it, charges, held }: Scene): Promise<void> => {
  const text = await (await it.get('/metrics', METRICS_TOKEN)).text()
  expect([seriesOf(text, 'turnpike_charge_usd_total'), seriesOf(text, 'turnpike_held_usd')]).toEqual([
    charges.reduce((sum, { amount }) => sum + amount, 0n),
    held,
  ])
}

/** Each call's receipt, again. */
export const checkReceipts = async (scene: Scene): Promise<void> => {
  for (const { id, amount } of scene.charges) {
    const { claims } = await of(scene, `/calls/${id}/receipt`)
    expect([id, nano(claims.cost.amount)]).toEqual([id, amount])
  }
}

/** Compares all of them, and the books with their laws. */
export const checkFigures = async (scene: Scene): Promise<void> => {
  await checkPages(scene)
  await checkReports(scene)
  await checkKeys(scene)
  await checkMetrics(scene)
  expect((await scene.it.store.ledger.audit()).filter(({ ok }) => !ok)).toEqual([])
}

/**
 * `npm run stand`: two cells, each two PostgreSQL under Patroni behind HAProxy with two gateways, and their router, on this
 * machine; callers with books of their own; and one fault after the other. Ends with 1 if a bound is broken, with 2 if a
 * program is missing.
 *
 * Options: --seconds N (how long a fault lasts, 8), --only <pattern of faults' names>, --seed N, --keep <folder> (the logs go there).
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { untilUp } from '../chaos/gateways.ts'
import { startUpstream } from '../chaos/upstream.ts'
import { freePort } from '../free-port.ts'
import { runProgram } from '../program.ts'
import { until } from '../until.ts'
import { chargesIn, type Findings, findings } from './books.ts'
import { type Callers, type Seen, startCallers } from './callers.ts'
import { type Cell, startCell, startRouter } from './cell.ts'
import type { Fault } from './fault.ts'
import { faultsOf } from './faults.ts'
import { startEtcd, untilWhole } from './pair.ts'
import { missingPackages, openPrograms } from './programs.ts'

const option = (name: string): string | undefined =>
  process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined
const seconds = Number(option('--seconds') ?? '8')
const only = new RegExp(option('--only') ?? '')
const seed = Number(option('--seed') ?? Math.floor(Math.random() * 1e9))

let state = seed | 0
const random = (): number => {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

/** What callers noticed of a fault. */
type Noticed = {
  /** The longest time in which no call of a cell that was struck was answered, seconds. */
  readonly silent: number
  /** From the first error to the last one, seconds. */
  readonly errorsFor: number
  readonly slowestRefusal: number
  /** Errors in cells that the fault did not concern. */
  readonly elsewhere: readonly string[]
}

type Row = Findings & Noticed & { readonly fault: string; readonly broken: readonly string[] }

const isError = ({ complete, status }: Seen): boolean => !complete && status !== 409

const noticed = (
  seen: readonly Seen[],
  all: readonly Seen[],
  cells: readonly Cell[],
  atMs: number,
): Noticed => {
  const names = cells.map(({ name }) => name)
  const errors = seen.filter(isError)
  const own = errors.filter(({ cell }) => names.includes(cell)).map(({ endedMs }) => endedMs)
  const silences = names.flatMap((name) => {
    const ends = all
      .filter(({ cell, complete, endedMs }) => cell === name && complete && endedMs >= atMs - 1_000)
      .map(({ endedMs }) => endedMs)
      .sort((a, b) => a - b)
    return ends.slice(1).map((end, at) => end - (ends[at] ?? end))
  })
  const refusals = seen
    .filter(({ status }) => status === 503)
    .map(({ beganMs, endedMs }) => endedMs - beganMs)
  return {
    silent: Math.max(0, ...silences) / 1000,
    errorsFor: own.length === 0 ? 0 : (Math.max(...own) - Math.min(...own)) / 1000,
    slowestRefusal: Math.max(0, ...refusals) / 1000,
    elsewhere: errors
      .filter(({ cell }) => !names.includes(cell))
      .map((one) => `${one.cell} ${one.status} ${one.code} after ${(one.endedMs - atMs) / 1000} s`),
  }
}

const SETTLE_MS = 60_000
/**
 * Seconds in which a call to a cell that hangs is refused: two of the ledger's own deadlines for one with an Idempotency-Key,
 * on a busy machine.
 */
const REFUSED_WITHIN = 6

type Stand = {
  readonly cells: readonly [Cell, Cell]
  readonly callers: Callers
  readonly asked: () => readonly string[]
}

/** The laws of both ledgers, and what is between them: what does not hold. */
const laws = async ([first, second]: readonly [Cell, Cell], folder: string): Promise<readonly string[]> => {
  const run = ({ environment }: Cell, ...words: string[]) => runProgram(folder, environment, ...words)
  const done = [
    await run(first, 'audit'),
    await run(second, 'audit'),
    await run(first, 'cell', 'sums', '--audit', '--database', second.url),
  ]
  return done.flatMap(({ code, out, errors }) => (code === 0 ? [] : [`${out}${errors}`]))
}

/** What the books say of these calls, once every charge that was in a journal has had the time to arrive. */
const settled = async ({ cells, callers, asked }: Stand, seen: readonly Seen[]): Promise<Findings> => {
  for (const endMs = Date.now() + SETTLE_MS; ; await Bun.sleep(500)) {
    const ledgers = await Promise.all(cells.map(({ url }) => chargesIn(url)))
    const found = findings(seen, ledgers)
    if (found.lost.length > 0 && Date.now() < endMs) continue
    const more = cells.flatMap(({ name, repeating }, at) => {
      const charges = (ledgers[at] ?? []).filter(({ debit }) => debit === repeating.wallet).length
      const most = callers.repeatedIn(name)
      return charges > most ? [`${name}: ${charges} charges for ${most} calls that were repeated`] : []
    })
    const names = new Set(seen.flatMap(({ repeated, orderId }) => (repeated === undefined ? [orderId] : [])))
    const twice = asked().filter((id) => names.has(id))
    return { ...found, doubled: [...found.doubled, ...more, ...twice] }
  }
}

const play = async (stand: Stand, fault: Fault, folder: string): Promise<Row> => {
  const { cells, callers } = stand
  const whole = async () => {
    await Promise.all(cells.map(({ pair }) => untilWhole(pair)))
    await Promise.all(cells.flatMap(({ gateways }) => gateways.map(({ address }) => untilUp(address))))
  }
  const answeredSince = (ms: number) =>
    cells.every(({ name }) =>
      callers.seen.some(({ cell, complete, beganMs }) => cell === name && complete && beganMs > ms),
    )
  await whole()
  await until(() => answeredSince(Date.now() - 1_000))
  const atMs = Date.now()
  await fault.strike()
  await Bun.sleep((fault.seconds ?? seconds) * 1000)
  await fault.heal?.()
  await whole()
  const healedMs = Date.now()
  await until(() => answeredSince(healedMs))
  await Bun.sleep(1_000)
  const endMs = Date.now()
  await until(() => !callers.isOpenSince(endMs))
  const seen = callers.seen.filter(({ beganMs, endedMs }) => endedMs >= atMs && beganMs <= endMs)
  const found = await settled(stand, seen)
  const what = noticed(
    seen,
    callers.seen.filter(({ endedMs }) => endedMs <= endMs),
    fault.cells,
    atMs,
  )
  const broken = [
    ...found.lost.map((id) => `answered and not charged: ${id}`),
    ...found.doubled.map((id) => `charged twice: ${id}`),
    ...found.falselyRefused.map((how) => `falsely refused: ${how}`),
    ...what.elsewhere.map((how) => `an error in a cell that it did not concern: ${how}`),
    ...(what.slowestRefusal > REFUSED_WITHIN ? [`refused only after ${what.slowestRefusal} s`] : []),
    ...(await laws(cells, folder)),
  ]
  return { ...found, ...what, fault: fault.name, broken }
}

const HEADS = [
  ...[
    'fault',
    'longest without an answer, s',
    'errors for, s',
    'calls',
    'refused with 503',
    'slowest refusal, s',
  ],
  ...['cut off', 'lost', 'doubled', 'falsely refused'],
]

const lineOf = (row: Row): string =>
  `| ${[
    row.fault,
    row.silent.toFixed(1),
    row.errorsFor.toFixed(1),
    row.calls,
    row.refused,
    row.slowestRefusal.toFixed(1),
    row.cut,
    row.lost.length,
    row.doubled.length,
    row.falselyRefused.length,
  ].join(' | ')} |`

const config = (port: number): string => `
vendors:
  mock:
    base_url: http://127.0.0.1:${port}/v1
    models:
      m: { input_usd_per_1m: "1", output_usd_per_1m: "10", context_tokens: 100000, max_output_tokens: 4000 }
`

const main = async (): Promise<number> => {
  const missing = missingPackages()
  if (missing.length > 0) {
    process.stderr.write(`the stand needs programs of Debian: apt-get install ${missing.join(' ')}\n`)
    return 2
  }
  const undo: (() => unknown)[] = []
  const end = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void end().finally(() => process.exit(1)))
  try {
    const programs = openPrograms()
    undo.push(programs.stop)
    const keep = option('--keep')
    if (keep !== undefined) undo.push(() => programs.keepLogs(keep))
    const upstream = startUpstream()
    undo.push(upstream.stop)
    const [sold, directory] = [join(programs.folder, 'turnpike.yaml'), join(programs.folder, 'cells.yaml')]
    writeFileSync(sold, config(upstream.port))
    const ports = [await freePort(), await freePort(), await freePort(), await freePort()]
    const at = (one: number) => `'http://127.0.0.1:${ports[one]}'`
    writeFileSync(
      directory,
      `first: c1\ncells:\n  c1: { addresses: [${at(0)}, ${at(1)}] }\n  c2: { addresses: [${at(2)}, ${at(3)}] }\n`,
    )
    say(`seed ${seed}; building the stand`)
    const etcd = await startEtcd(programs)
    const house = { programs, etcd: etcd.port, config: sold, directory }
    const cells = [
      await startCell(house, 'c1', ports.slice(0, 2)),
      await startCell(house, 'c2', ports.slice(2)),
    ] as const
    for (const cell of cells) undo.push(cell.stop)
    const router = await startRouter(house)
    const callers = startCallers(router.address, cells, random)
    const asked = () => [...upstream.notes].flatMap(([id, note]) => (note.asked > 1 ? [id] : []))
    const stand = { cells, callers, asked }
    const faults = faultsOf({ cells, router: router.program, etcd: etcd.program })
    say(
      `| ${HEADS.join(' | ')} |\n|${HEADS.map((_head, column) => (column === 0 ? ' --- |' : ' ---: |')).join('')}`,
    )
    let failed = 0
    for (const fault of faults.filter(({ name }) => only.test(name))) {
      const row = await play(stand, fault, programs.folder)
      say(lineOf(row))
      for (const one of row.broken.slice(0, 10)) say(`BROKEN: ${one}`)
      if (row.broken.length > 0) failed++
    }
    await callers.stop()
    say(`${failed} faults broke a bound; seed ${seed}`)
    return failed === 0 ? 0 : 1
  } finally {
    await end()
  }
}

process.exit(await main())

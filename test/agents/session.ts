/** One client with one vendor: its recipe unchanged, then a session of work, an error of the vendor and a hang-up. */
import type { Json } from '../../src/core/json-body.ts'
import { costOf, countsIn, lostOnTheWay, namedCost } from './checks.ts'
import type { Exchange } from './exchange.ts'
import { type House, modelOf, openHouse } from './house.ts'
import type { Installed } from './install.ts'
import { type Desk, type Ended, openDesk } from './launch.ts'
import { readPage } from './page.ts'
import type { Cell, Program } from './programs/program.ts'
import { type Deed, MARCH, promptFor, results, sessionAnswers, words } from './scenario.ts'
import type { Sighting, VendorId } from './vendor-host.ts'

/** What went wrong, by check; a cell that is missing is fine. */
export type Findings = ReadonlyMap<Cell, string>

type Ran = Ended & {
  readonly seen: readonly Sighting[]
  readonly exchanges: readonly Exchange[]
  readonly refused: readonly string[]
  /** By the ledger, in nano-USD. */
  readonly charged: number
}

type Bench = {
  readonly program: Program
  readonly vendor: VendorId
  readonly house: House
  readonly desk: Desk
}

/** Runs everything and returns what it found. */
export const runSession = async (
  program: Program,
  vendor: VendorId,
  installed: Installed,
): Promise<Findings> => {
  const house = await openHouse()
  const model = modelOf[vendor]
  const page = readPage(program.name, { address: house.tap.address, key: house.key, model })
  const desk = openDesk(page, installed.bins, program.driver === undefined ? undefined : installed.modules)
  const bench = { program, vendor, house, desk }
  const found = new Map<Cell, string>()
  const note = (cell: Cell, fits: boolean, why: () => string) => {
    if (!fits && !found.has(cell) && program.cannot?.[cell] === undefined) found.set(cell, why())
  }
  try {
    house.vendors.play(sessionAnswers(program.run))
    for (const name of page.install.split(' ').slice(2)) if (name !== '-g') installed.versionOf(name)
    const first = await settled(bench, desk.run(page.first).ended)
    note('text', first.out.includes(words.greeting), () => heardOf(first))
    moneyOf(first, note)
    const work = await settled(bench, desk.run(program.command, asking('work', model)).ended)
    checkWork(work, note)
    moneyOf(work, note)
    checkUsage(program, work, note)
    checkBytes(bench, work, note)
    if (program.socket !== undefined) {
      const march = await settled(bench, desk.run(program.command, asking('march', model)).ended)
      checkMarch(program, march, note)
      moneyOf(march, note)
    }
    const failed = await settled(bench, desk.run(program.command, asking('fail', model)).ended)
    note('error', `${failed.out}${failed.errors}`.includes(words.refused), () => heardOf(failed))
    await checkHangUp(bench, model, note)
    if (program.after !== undefined) await desk.run(program.after).ended
  } finally {
    desk.remove()
    const { held, audit } = await house.close()
    note('money', held === 0, () => `${held} nano-USD are held after all ended`)
    note('money', audit.length === 0, () => audit.join('; '))
  }
  return found
}

/** Leaving takes no time; this only ends a run in which the program never leaves. */
const LEAVING_MS = 3 * 60_000

type Note = (cell: Cell, fits: boolean, why: () => string) => void

const asking = (deed: Deed, model: string) => ({ DEED: deed, PROMPT: promptFor(deed), MODEL: model })

/** The end of a run, and all requests and answers of it. */
const settled = async ({ house }: Bench, ended: Promise<Ended>): Promise<Ran> => {
  const before = await house.charged()
  const end = await ended
  const charged = (await house.charged()) - before
  return { ...end, ...house.vendors.collect(), exchanges: house.tap.collect(), charged }
}

const heardOf = ({ code, out, errors, refused, exchanges }: Ran): string => {
  const failures = exchanges
    .filter(({ status }) => status >= 400 && status !== 404)
    .map(({ answer }) => answer.slice(0, 300))
  return [
    `ended with ${code}`,
    ...refused.map((why) => `the vendor refused: ${why}`),
    ...failures.map((answer) => `we answered: ${answer}`),
    `it said: ${out.slice(-600)} ${errors.slice(-600)}`,
  ].join('\n')
}

const checkWork = (work: Ran, note: Note): void => {
  const { out, seen, refused } = work
  const said = words.done + results.first
  note('two tools', refused.length === 0, () => heardOf(work))
  note(
    'two tools',
    [words.done.trim(), results.first, results.second].every((word) => out.includes(word)),
    () => heardOf(work),
  )
  note(
    'tool error',
    out.includes(results.error) && /no such file/i.test(out),
    () => `not in '${said}': ${heardOf(work)}`,
  )
  note(
    'long context',
    seen.some(({ counts }) => (counts?.cacheRead ?? 0) > 1_000),
    () => {
      const counted = seen.map(({ counts }) => JSON.stringify(counts)).join(' ')
      return `nothing was read from the vendor's cache: ${counted}`
    },
  )
}

/** Forty turns on one socket: the client sees no error, retries nothing, and sends what it says it sends. */
const checkMarch = (program: Program, march: Ran, note: Note): void => {
  const { out, errors, exchanges, seen } = march
  const turns = exchanges.filter(({ method }) => method === 'POST')
  const last = `step-${MARCH - 1}`
  note('two tools', out.includes(words.done.trim()) && out.includes(last), () => heardOf(march))
  note('two tools', turns.length === MARCH + 1 && seen.length === turns.length, () => {
    const at = turns.map(({ socket, status }) => `${socket ?? 'HTTP'}: ${status}`).join(', ')
    return `${turns.length} turns, of which the vendor saw ${seen.length}: ${at}`
  })
  const sockets = new Set(turns.map(({ socket }) => socket))
  note(
    'two tools',
    sockets.size === 1 && !sockets.has(undefined),
    () => `sockets: ${[...sockets].join(', ')}`,
  )
  const whole = turns.slice(1).filter(({ own = 0, body }) => own >= (body.input as Json[]).length)
  note(
    'two tools',
    whole.length === 0 || program.socket === 'all items',
    () => `${whole.length} turns sent the conversation again`,
  )
  note('two tools', !/reconnect|retry|disconnected/i.test(`${out}${errors}`), () => heardOf(march))
}

/** The vendor's counts by the price list, the ledger and the costs in the answers are one amount. */
const moneyOf = ({ seen, charged, exchanges }: Ran, note: Note): void => {
  const due = costOf(seen)
  note(
    'money',
    charged === due,
    () => `the vendor's counts cost ${due} nano-USD, the ledger charged ${charged}`,
  )
  const named = namedCost(exchanges)
  note('money', named === due, () => `the vendor's counts cost ${due} nano-USD, the answers told ${named}`)
}

/** A vendor of the same dialect saw what was sent, or the caller learnt what was left out. */
const checkBytes = ({ program }: Bench, { exchanges, seen }: Ran, note: Note): void => {
  if (!seen.some(({ dialect }) => dialect === program.speaks)) return
  const lost = lostOnTheWay(program.speaks, exchanges, seen)
  note('bytes', lost.length === 0, () => `lost without a word: ${lost.join(', ')}`)
}

const checkUsage = (program: Program, { out, code, seen }: Ran, note: Note): void => {
  if (program.usageOf === undefined || code !== 0) return
  const counted = countsIn(seen)
  const own = program.usageOf(out)
  note(
    'money',
    Bun.deepEquals(own, counted),
    () => `it counts ${JSON.stringify(own)}, the vendor ${JSON.stringify(counted)}`,
  )
}

/** The program hangs up while an answer stalls: the call to the vendor ends, and what was delivered is charged. */
const checkHangUp = async (bench: Bench, model: string, note: Note): Promise<void> => {
  const { house, desk, program } = bench
  const running = desk.run(program.command, asking('wait', model))
  const stalled = await Promise.race([house.vendors.stalled(), running.ended.then(() => undefined)])
  if (stalled === undefined) {
    const ran = await settled(bench, running.ended)
    note('hang-up', false, () => `it ended before the vendor stalled: ${heardOf(ran)}`)
    return
  }
  if (program.hangsUp !== true) running.hangUp()
  const left = await Promise.race([stalled.left.then(() => true), Bun.sleep(LEAVING_MS).then(() => false)])
  note('hang-up', left, () => 'the vendor was not left')
  await settled(bench, running.ended)
}

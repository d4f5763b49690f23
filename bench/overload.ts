/**
 * Overload: `bun bench/overload.ts [--engine postgres] [--turns N] [--seconds N] [--best N] [--only calls|streams|flood]`. Finds
 * the rate at which most calls end well, unless it is given, then offers it and two, three and five times as much in turns:
 * short calls, streams; and one key that sends ten times its share. Prints rows for docs/performance.md.
 *
 * The server has one core to itself only as far as the machine lets it. So rates are those of a whole core: what is offered
 * follows from moment to moment the part of its core that the server gets, and what ends well is told by it.
 */
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { bodyOf, cpuSeconds, median, modelFor, quantile } from './measure.ts'
import { type Ended, offer } from './open-loop.ts'
import { type Server, startTurnpike, startUpstream } from './servers.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string' },
    turns: { type: 'string' },
    only: { type: 'string' },
    seconds: { type: 'string' },
    best: { type: 'string' },
  },
})
const turns = Number(values.turns ?? '7')
/** Seconds of one load; its second half is counted. */
const SECONDS = Number(values.seconds ?? '8')
const TIMES = [1, 2, 3, 5]
const PATIENCE_MS = 2_000
const CONNECTIONS = 3_000
const LOOK_MS = 250
const TRIES = 2
const ENDS_WELL = 0.9
const PATH = '/v1/chat/completions'
/** Pieces and milliseconds between them: a second of a quick vendor. */
const STREAM = { stream: true, user: 's50x0x20' }

type Load = { readonly callers: readonly Record<string, string>[]; readonly rate: number }

/** The result of one load: how many a second ended well, were turned away, failed; and how long the good ones took. */
type LoadResult = {
  readonly good: number
  readonly away: number
  readonly failed: number
  readonly firstMs: readonly number[]
  readonly totalMs: readonly number[]
}

type Turn = {
  readonly loads: readonly LoadResult[]
  /**
   * Of the server: CPU a second, all threads; for its main thread, the shares of the time in which it waited for a
   * core, and for work.
   */
  readonly cpu: number
  readonly waited: number
  readonly idle: number
  /** The share of its core that it got when it had work. */
  readonly share: number
}

const resultOf = (ended: readonly Ended[]): LoadResult => {
  // When the queues have filled.
  const counted = ended.filter(
    ({ dueMs, totalMs }) => dueMs + totalMs > SECONDS * 500 && dueMs + totalMs < SECONDS * 1_000,
  )
  const of = (good: (one: Ended) => boolean) => counted.filter(good).length / (SECONDS / 2)
  const well = counted.filter(({ status, totalMs }) => status === 200 && totalMs < PATIENCE_MS)
  const isAway = ({ status }: Ended) => status === 503
  const times = (what: (one: Ended) => number) => well.map(what).sort((a, b) => a - b)
  return {
    good: well.length / (SECONDS / 2),
    away: of(isAway),
    failed: of((one) => !isAway(one)) - well.length / (SECONDS / 2),
    firstMs: times(({ firstMs }) => firstMs),
    totalMs: times(({ totalMs }) => totalMs),
  }
}

/** Seconds that the main thread has run, and has waited for a core. */
const mainThread = ([pid]: readonly number[]): readonly [number, number] => {
  const fields = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')
  return [Number(fields[0]) / 1e9, Number(fields[1]) / 1e9]
}

/** The share of its core that the server gets when it has work, sampled four times a second. */
const newShare = ({ pids }: Server): (() => number) => {
  let [ran, waited] = mainThread(pids)
  let lookedMs = performance.now()
  let share = 0.5
  return () => {
    if (performance.now() - lookedMs < LOOK_MS) return share
    const [ranNow, waitedNow] = mainThread(pids)
    const [more, wait] = [ranNow - ran, waitedNow - waited]
    if (more > 0) share = (share + more / (more + wait)) / 2
    ran = ranNow
    waited = waitedNow
    lookedMs = performance.now()
    return share
  }
}

const turnOf = async (server: Server, body: string, loads: readonly Load[]): Promise<Turn> => {
  const port = Number(new URL(server.url).port)
  const text = modelFor(server, body)
  const count = () => [cpuSeconds(server), ...mainThread(server.pids)] as const
  // The server and the calls are measured over the same time.
  const counted = Bun.sleep(SECONDS * 500).then(async () => {
    const before = count()
    await Bun.sleep(SECONDS * 500)
    const [cpu = 0, ran = 0, waited = 0] = count().map((now, at) => (now - (before[at] ?? 0)) / (SECONDS / 2))
    return { cpu, waited, idle: Math.max(0, 1 - ran - waited), share: ran / (ran + waited) }
  })
  const share = newShare(server)
  const fixed = { port, path: PATH, body: text, seconds: SECONDS, connections: CONNECTIONS }
  const ended = await Promise.all(
    loads.map(({ callers, rate }) => offer({ ...fixed, callers, rate: () => rate * share() }, PATIENCE_MS)),
  )
  return { loads: ended.map((one) => resultOf(one.ended)), ...(await counted) }
}

const round = (value: number, digits = 0): number => Number(value.toFixed(digits))

const line = (what: string, { loads, cpu, waited, idle, share }: Turn): void => {
  const each = loads.map(
    ({ good, away, failed, firstMs, totalMs }) =>
      `${round(good)}/s well, ${round(away)}/s away, ${round(failed)}/s failed; first byte p50 ${round(quantile(firstMs, 0.5))} p99 ${round(quantile(firstMs, 0.99))} ms, whole p50 ${round(quantile(totalMs, 0.5))} p99 ${round(quantile(totalMs, 0.99))} ms`,
  )
  process.stderr.write(
    `${what}: ${each.join(' | ')}; CPU ${round(cpu * 100)} %, waited ${round(waited * 100)} %, share ${round(share * 100)} %, idle ${round(idle * 100)} %\n`,
  )
}

/** The rate that ends well of the first load, or of another, for a whole core. */
const goodOf = (turn: Turn, load = 0): number => (turn.loads[load]?.good ?? 0) / turn.share

/** The highest of rising rates that still ends well, nearly whole; a rate that fails is tried again. */
const bestRate = async (server: Server, body: string, from: number): Promise<number> => {
  let best = 0
  for (let rate = from; ; rate *= 1.25) {
    let good = 0
    for (let tries = 0; tries < TRIES && good < ENDS_WELL * rate; tries++) {
      const turn = await turnOf(server, body, [{ callers: [server.headers], rate }])
      line(`offered ${round(rate)}/s`, turn)
      good = Math.max(good, Math.min(rate, goodOf(turn)))
    }
    best = Math.max(best, good)
    if (good < ENDS_WELL * rate) return best
  }
}

/** Each load in turns, so that a machine whose speed drifts treats them alike; returns the turns of each load. */
const inTurns = async (
  what: string,
  loads: readonly number[],
  of: (times: number) => Promise<Turn>,
): Promise<readonly (readonly Turn[])[]> => {
  const all = loads.map((): Turn[] => [])
  for (let turn = 0; turn < turns; turn++)
    for (const [at, times] of loads.entries()) {
      const one = await of(times)
      line(`${what}, ${times} times`, one)
      all[at]?.push(one)
    }
  return all
}

const wellACpu = ({ loads, cpu }: Turn): number => (loads[0]?.good ?? 0) / cpu

/** The median over the turns of a turn's result relative to the turn before it at the best rate. */
const ofFirst = (all: readonly (readonly Turn[])[], at: number, value: (turn: Turn) => number): number =>
  median((all[at] ?? []).map((turn, which) => value(turn) / value(all[0]?.[which] ?? turn)))

const percent = (part: number): string => `${round(part * 100)} %`

/** The best rate against several times that, as rows. */
const overloadedBy = async (server: Server, what: string, body: string, from: number): Promise<string[]> => {
  const best = values.best === undefined ? await bestRate(server, body, from) : Number(values.best)
  const all = await inTurns(what, TIMES, (times) =>
    turnOf(server, body, [{ callers: [server.headers], rate: best * times }]),
  )
  return all.map((each, at) => {
    const middle = (value: (turn: Turn) => number): number => median(each.map(value))
    const first = (part: number) => middle((turn) => round(quantile(turn.loads[0]?.firstMs ?? [], part), 1))
    return [
      what,
      `${TIMES[at]} × ${round(best)}`,
      `${round(middle((turn) => goodOf(turn)))}/s`,
      `${round(middle((turn) => (turn.loads[0]?.away ?? 0) / turn.share))}/s`,
      percent(ofFirst(all, at, (turn) => goodOf(turn))),
      percent(ofFirst(all, at, wellACpu)),
      `${first(0.5)}, ${first(0.99)} ms`,
      percent(middle(({ share }) => share)),
    ].join(' | ')
  })
}

/** Nine keys that send what they may, beside one that sends as much as they do, then ten times that. */
const flood = async (server: Server): Promise<string[]> => {
  const body = bodyOf(1_000)
  const best = values.best === undefined ? await bestRate(server, body, 4_000) : Number(values.best)
  const share = best / 12
  const others = server.others ?? []
  const all = await inTurns('one key of ten', [1, 10], (times) =>
    turnOf(server, body, [
      { callers: others, rate: share * others.length },
      { callers: [server.headers], rate: share * times },
    ]),
  )
  const kept = ofFirst(all, 1, (turn) => goodOf(turn))
  const flooding = median((all[1] ?? []).map((turn) => goodOf(turn, 1)))
  return [`the others keep ${percent(kept)}; who floods has ${round(flooding)}/s of ${round(share * 10)}/s`]
}

const upstream = await startUpstream()
const server = await startTurnpike(upstream, {
  engine: values.engine === 'postgres' ? 'postgres' : 'sqlite',
  port: 20_000 + Math.floor(Math.random() * 10_000),
  others: 9,
})
/** We measure the overload of the server, not that of the sender. */
const pin = (pids: readonly number[], cores: string): void => {
  if (Bun.which('taskset') !== null)
    for (const pid of pids) Bun.spawnSync(['taskset', '-acp', cores, String(pid)], { stdout: 'ignore' })
}
const last = cpus().length - 1
if (last > 0) {
  pin(server.pids, '0')
  pin([process.pid, ...upstream.pids], `1-${last}`)
}
try {
  // Code that is not compiled yet costs a third more.
  await turnOf(server, bodyOf(1_000), [{ callers: [server.headers], rate: 3_000 }])
  const wanted = (part: string): boolean => values.only === undefined || values.only === part
  const rows = [
    ...(wanted('calls') ? await overloadedBy(server, 'calls of 1 KB', bodyOf(1_000), 4_000) : []),
    ...(wanted('streams') ? await overloadedBy(server, 'streams', bodyOf(1_000, STREAM), 400) : []),
    ...(wanted('flood') ? await flood(server) : []),
  ]
  process.stdout.write(
    `${server.name}\n| what | offered | well | away | of the best | well per CPU | first byte p50, p99 | share of a core |\n`,
  )
  for (const row of rows) process.stdout.write(`| ${row} |\n`)
} finally {
  await server.stop()
  await upstream.stop()
}
process.exit(0)

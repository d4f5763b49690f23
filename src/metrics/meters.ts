/**
 * What a process counts of its calls, its vendors and its ledger: plain numbers, written where things happen and read
 * on request.
 */
import type { Nano } from '../core/money.ts'
import { inputClasses, outputTokens, tokenClasses, type Usage, type UsageClass } from '../core/usage.ts'
import { countedFamilies } from './families.ts'
import { type Counter, type Histogram, type HistogramId, newRegistry, type Registry } from './registry.ts'

/** What is known of a call when it has ended; times are monotonic milliseconds. */
type CallFacts = {
  /** The address in the route table, if it runs calls. */
  readonly endpoint?: string
  readonly vendor?: string
  readonly model?: string
  readonly ended?: string
  readonly startedMs: number
  readonly times: {
    /** When the first piece of a stream was ready for its caller. */
    readonly firstOutMs?: number
    /** Time spent on failed attempts. */
    readonly lostMs: number
    /** For the attempt that was answered: when it was sent, when its answer began and when it ended. */
    readonly askedMs?: number | undefined
    readonly begunMs?: number
    readonly answeredMs?: number
  }
  /** What was charged, once that is durable. */
  readonly usage?: Usage
  readonly charged?: Nano
  /** The place of the vendor's key that answered. */
  readonly vendorKey?: string
  readonly cacheSaved?: Nano | undefined
  /** What the call is for. */
  readonly tags?: Readonly<Record<string, string>> | undefined
}

type Attempt = 'ok' | 'refused' | 'busy' | 'key_refused' | 'may_bill' | 'failed' | 'unfit' | 'gone'

export type Meters = {
  /** A request has ended; its charge, if known, is counted with it. */
  called(call: CallFacts, status: number, nowMs: number): void
  /** A job was charged, long after its call. */
  jobCharged(of: { readonly vendor: string; readonly model: string }, usage: Usage, charged: Nano): void
  attempted(vendor: string, outcome: Attempt, ms: number): void
  /** A webhook of a wallet's alert, or of a job that has ended. */
  webhookSent(kind: 'alert' | 'job' | 'batch', accepted: boolean): void
  /** An event came to the address of Stripe's webhook; refused ones may be anybody's. */
  stripeEvent(taken: boolean): void
  /** An agent sent telemetry of its own. */
  agentTold(signal: string): void
  gateWaited(gate: 'intent' | 'settle', ms: number): void
  committed(operations: number, fromMs: number, toMs: number): void
  /** The begin and end of the last commit. */
  lastCommit(): { readonly fromMs: number; readonly toMs: number }
  commitFailed(): void
  /** The ledger does not answer, and new calls are refused. */
  ledgerLost(): void
  /** This many things that the ledger had lost were put back. */
  putBack(things: number): void
  turnedAway(): void
  loopDelayed(ms: number): void
  collected(ms: number): void
  readonly registry: Registry
}

const SECOND_MS = 1_000
/** Where a job's charge is counted. */
const JOB = 'job'

const tokens = new Set<string>(tokenClasses)
const inputs = new Set<string>(inputClasses)

/** The series of one vendor, model and endpoint, looked up once for all their calls. */
type Line = {
  readonly labels: readonly [string, string, string]
  readonly outcomes: Map<string, Counter>
  readonly classes: Map<UsageClass, Counter>
  readonly charge: { nano: Nano }
  readonly keys: Map<string, KeyInput>
  readonly duration: Histogram
  readonly first: Histogram
  readonly pace: Histogram
  readonly added: Histogram
  readonly addedFirst: Histogram
}

/** There are never more series than this, so more lines are not cached. */
const LINES_MAX = 1_000

/** `tags` are the names of those by whose values calls are counted. */
export const newMeters = (registry = newRegistry(), tags: readonly string[] = []): Meters => {
  const linesOf = newLines(registry)
  const attempts = new Map<string, { readonly count: Counter; readonly time: Histogram }>()
  const [batch, commit, loop] = [
    registry.histogram('batch'),
    registry.histogram('commit'),
    registry.histogram('loop'),
  ]
  const gates = {
    intent: registry.histogram('gate', ['intent']),
    settle: registry.histogram('gate', ['settle']),
  }
  const last = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.NEGATIVE_INFINITY }
  const count = (id: 'commitFailures' | 'outages' | 'putBack' | 'turnedAway' | 'collections') =>
    registry.counter(id)
  return {
    called: (call, status, nowMs) => {
      noteCall(registry, linesOf, call, status, nowMs)
      if (call.tags !== undefined && call.usage !== undefined) noteTags(registry, tags, call)
    },
    jobCharged: ({ vendor, model }, usage, charged) =>
      noteCharge(registry, linesOf(vendor, model, JOB), usage, charged),
    attempted: (vendor, outcome, ms) => {
      const name = `${vendor}\n${outcome}`
      let known = attempts.get(name)
      if (known === undefined) {
        known = {
          count: registry.counter('attempts', [vendor, outcome]),
          time: registry.histogram('attemptTime', [vendor]),
        }
        attempts.set(name, known)
      }
      known.count.value++
      took(known.time, 'attemptTime', ms)
    },
    webhookSent: (kind, accepted) =>
      registry.counter('webhooks', [kind, accepted ? 'accepted' : 'failed']).value++,
    stripeEvent: (taken) => registry.counter('stripeEvents', [taken ? 'taken' : 'refused']).value++,
    agentTold: (signal) => registry.counter('agentTelemetry', [signal]).value++,
    gateWaited: (gate, ms) => took(gates[gate], 'gate', ms),
    committed: (operations, fromMs, toMs) => {
      observe(batch, 'batch', operations)
      took(commit, 'commit', toMs - fromMs)
      last.fromMs = fromMs
      last.toMs = toMs
    },
    lastCommit: () => last,
    commitFailed: () => count('commitFailures').value++,
    ledgerLost: () => count('outages').value++,
    putBack: (things) => {
      count('putBack').value += things
    },
    turnedAway: () => count('turnedAway').value++,
    loopDelayed: (ms) => took(loop, 'loop', ms),
    collected: (ms) => {
      count('collections').value++
      registry.counter('collectionTime').value += ms / SECOND_MS
    },
    registry,
  }
}

/** Counts a value, in the family's own unit, in its bucket. */
const observe = (histogram: Histogram, of: HistogramId, value: number): void => {
  const { counts } = histogram
  const { bounds } = countedFamilies[of]
  let at = 0
  while (at < bounds.length && value > (bounds[at] ?? 0)) at++
  counts[at] = (counts[at] ?? 0) + 1
  histogram.sum += value
}

const took = (histogram: Histogram, of: HistogramId, ms: number): void =>
  observe(histogram, of, ms / SECOND_MS)

type FindLine = (vendor: string, model: string, endpoint: string) => Line

const newLines = (registry: Registry): FindLine => {
  const known = new Map<string, Line>()
  return (vendor, model, endpoint) => {
    const name = `${endpoint}\n${model}\n${vendor}`
    const line = known.get(name)
    if (line !== undefined) return line
    const labels = [vendor, model, endpoint] as const
    const made: Line = {
      labels,
      outcomes: new Map(),
      classes: new Map(),
      charge: registry.money('charge', labels),
      keys: new Map(),
      duration: registry.histogram('duration', [vendor, endpoint]),
      first: registry.histogram('firstToken', [vendor]),
      pace: registry.histogram('tokenPace', [vendor]),
      added: registry.histogram('added', [endpoint]),
      addedFirst: registry.histogram('addedFirst', [endpoint]),
    }
    if (known.size < LINES_MAX) known.set(name, made)
    return made
  }
}

const noteCall = (
  registry: Registry,
  linesOf: FindLine,
  call: CallFacts,
  status: number,
  nowMs: number,
): void => {
  const { endpoint = 'other', vendor = '', model = '', ended } = call
  registry.counter('requests', [endpoint, String(status)]).value++
  const refused = status >= 400 && ended !== 'client_gone'
  if (refused) registry.counter('refusals', [ended ?? String(status), vendor, model, endpoint]).value++
  if (call.model === undefined) return
  // A call that was charged may be refused after that: its payer did not pay, or its answer was lost.
  const { usage } = call
  if (refused && usage === undefined) return
  const line = linesOf(vendor, model, endpoint)
  if (usage !== undefined) {
    noteCharge(registry, line, usage, call.charged ?? 0n)
    if (call.vendorKey !== undefined)
      noteCache(registry, line, call.vendorKey, { usage, cacheSaved: call.cacheSaved })
  }
  if (refused) return
  const outcome = ended ?? 'ok'
  let counter = line.outcomes.get(outcome)
  if (counter === undefined) {
    counter = registry.counter('calls', [...line.labels, outcome])
    line.outcomes.set(outcome, counter)
  }
  counter.value++
  took(line.duration, 'duration', nowMs - call.startedMs)
  noteTimes(line, call, outcome, nowMs)
}

/** Counts a charged call by the values of its tags. */
const noteTags = (
  registry: Registry,
  names: readonly string[],
  { tags = {}, charged = 0n }: CallFacts,
): void => {
  for (const name of names) {
    const value = Object.hasOwn(tags, name) ? tags[name] : undefined
    if (value === undefined) continue
    registry.counter('tagCalls', [name, value]).value++
    registry.money('tagCharge', [name, value]).nano += charged
  }
}

const noteCharge = (registry: Registry, line: Line, usage: Usage, charged: Nano): void => {
  line.charge.nano += charged
  for (const name in usage) {
    const of = name as UsageClass
    let counter = line.classes.get(of)
    if (counter === undefined) {
      counter = registry.counter(tokens.has(of) ? 'tokens' : 'units', [...line.labels, of])
      line.classes.set(of, counter)
    }
    counter.value += usage[of] ?? 0
  }
}

type KeyInput = { readonly cached: Counter; readonly plain: Counter }

const keyInputOf = (registry: Registry, vendor: string, key: string): KeyInput => ({
  cached: registry.counter('keyInput', [vendor, key, 'true']),
  plain: registry.counter('keyInput', [vendor, key, 'false']),
})

/** Caches belong to the vendor's key, so what they give is counted by it. */
const noteCache = (
  registry: Registry,
  { labels: [vendor, model], keys }: Line,
  key: string,
  { usage, cacheSaved = 0n }: { readonly usage: Usage; readonly cacheSaved?: Nano | undefined },
): void => {
  let [cached, plain] = [0, 0]
  for (const name in usage)
    if (name === 'cache_read' || name === 'cache_read_audio') cached += usage[name] ?? 0
    else if (inputs.has(name)) plain += usage[name as UsageClass] ?? 0
  if (cached + plain === 0) return
  let input = keys.get(key)
  if (input === undefined) {
    input = keyInputOf(registry, vendor, key)
    keys.set(key, input)
  }
  input.cached.value += cached
  input.plain.value += plain
  if (cacheSaved > 0n) registry.money('cacheSaved', [vendor, key, model]).nano += cacheSaved
  if (cacheSaved < 0n) registry.money('cacheAdded', [vendor, key, model]).nano -= cacheSaved
}

/** Latency only of answers that ended well: nobody knows how long the others would have taken. */
const noteTimes = (line: Line, call: CallFacts, outcome: string, nowMs: number): void => {
  const { startedMs, times, usage } = call
  const { askedMs, begunMs, answeredMs, firstOutMs, lostMs } = times
  if (askedMs === undefined || answeredMs === undefined || outcome !== 'ok') return
  took(line.added, 'added', nowMs - startedMs - lostMs - (answeredMs - askedMs))
  if (firstOutMs === undefined || begunMs === undefined) return
  took(line.first, 'firstToken', firstOutMs - startedMs)
  took(line.addedFirst, 'addedFirst', firstOutMs - startedMs - lostMs - (begunMs - askedMs))
  const gaps = usage === undefined ? 0 : outputTokens(usage) - 1
  if (gaps > 0) took(line.pace, 'tokenPace', (answeredMs - begunMs) / gaps)
}

/**
 * Callers with an Idempotency-Key: they send their call to one process after another until it is answered. Each attempt
 * of a call gives another answer, as models do, and may cost as much as another or not. The caller gets one of them and
 * pays it once.
 */
import type { Book, Hold } from '../../src/book/contract.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { Clock } from '../../src/core/time.ts'
import type { IdempotencyRef, UsageDetail } from '../../src/ledger/types.ts'
import type { Store } from '../../src/store/port.ts'
import type { Stage } from './stage.ts'
import type { Draws } from './world.ts'

/** A process as such a caller meets it. */
export type Counter = {
  readonly store: Store
  readonly book: Book
  readonly clock: Clock
  readonly instance: string
  readonly alive: () => boolean
  /** The calls it runs now: a gateway lets copies join, and never runs two at once. */
  readonly running: Set<string>
}

type RepeatAnswer = {
  readonly callId: string
  readonly cost: bigint
  readonly said: string
}

type RepeatParts = Stage & {
  readonly counter: () => Counter | undefined
  /** Two processes, the first of which is out of touch from now on, for so long. */
  readonly cutOff: (ms: number) => readonly [Counter, Counter] | undefined
  readonly detail: UsageDetail
  readonly keyId: string
  /** A value of that key. */
  readonly hash: () => string
  readonly longestCallMs: number
}

/** One request: its key, and how long the vendor takes for it, where it does nothing else than come to its end. */
type Repeat = { readonly ref: IdempotencyRef; readonly draws: Draws; readonly lastsMs?: number }

const PATIENCE_MS = 4_500
/** After this long without a beat another process may take over; see src/store/ledger/silence.ts. */
const SILENT_MS = 3_000
const TRIES = 6
const POLLS = 12

export const createRepeats = (parts: RepeatParts) => {
  const { world, hit, fail } = parts
  const { after } = world
  const allAnswers: (readonly RepeatAnswer[])[] = []
  let asked = 0
  let serial = 0

  const repeatOf = (): { readonly ref: IdempotencyRef; readonly draws: Draws } => {
    const key = `${++asked}`
    return { ref: { keyId: parts.keyId, endpoint: 'chat', key }, draws: world.draws(`repeat ${key}`) }
  }

  /** The call itself, under its id; undefined when it came to nothing. */
  const run = async ({ book, clock }: Counter, callId: string, { ref, draws, lastsMs }: Repeat) => {
    const { random, pick } = draws
    const key = await book.caller(parts.hash())
    if (key === undefined || key instanceof Refusal) return undefined
    const amount = BigInt(pick(200, 3_000)) * 1_000n
    const hold = await book.hold({ callId, key, amount, useful: amount / 8n })
    if (hold instanceof Refusal || 'outcome' in hold) return undefined
    const streams = random() < 0.6
    if (streams && !(await hold.opened)) return undefined
    await clock.sleep(lastsMs ?? pick(1, random() < 0.1 ? parts.longestCallMs - 500 : 300))
    if (lastsMs === undefined && streams && random() < 0.3) await hold.extend(amount * 2n, amount / 4n, false)
    if (streams && random() < 0.5) hold.checkpoint(amount / 4n)
    if (lastsMs === undefined && random() < 0.2)
      return void (await Promise.race([hold.void(), clock.sleep(2_000)]))
    return settle(hold, { ref, keyId: key.id }, BigInt(pick(1, 100)))
  }

  const settle = async (
    hold: Hold,
    { ref, keyId }: { ref: IdempotencyRef; keyId: string },
    share: bigint,
  ): Promise<RepeatAnswer | undefined> => {
    const cost = share > 50n ? 100_000n : (hold.amount() * share) / 100n
    const said = `${cost} ${serial++}`
    const answer = { ref, answer: { status: 200, headers: {}, body: said } }
    const settled = await hold.settle(cost, { ...parts.detail, keyId }, answer).catch(() => undefined)
    if (settled === undefined) return void hit('repeat: not answered')
    return { callId: hold.callId, cost, said }
  }

  const attempt = async (counter: Counter, repeat: Repeat): Promise<RepeatAnswer | undefined> => {
    const { ref } = repeat
    const { running } = counter
    if (running.has(ref.key)) return undefined
    running.add(ref.key)
    try {
      return await claim(counter, repeat)
    } finally {
      running.delete(ref.key)
    }
  }

  const claim = async (counter: Counter, repeat: Repeat): Promise<RepeatAnswer | undefined> => {
    const { ref } = repeat
    const { store, clock, instance } = counter
    const entry = { ref, fingerprint: 'f', callId: `i${serial++}`, instance, lockMs: parts.longestCallMs }
    for (let polls = 0; polls < POLLS; polls++) {
      const state = await store.idempotency.begin(entry)
      if (state.state === 'conflict') return void fail('a repeat was taken for another call')
      if (state.state === 'done') {
        hit('repeat: replayed')
        const said = state.answer.body
        return { callId: state.callId, cost: BigInt(said.split(' ')[0] ?? ''), said }
      }
      if (state.state === 'first') {
        if (state.callId !== entry.callId) hit('repeat: taken over')
        const answered = await run(counter, state.callId, repeat).catch(() => undefined)
        if (answered === undefined) await store.idempotency.release(ref, instance).catch(() => undefined)
        return answered
      }
      await clock.sleep(250)
    }
    return undefined
  }

  /** Sends a call until it is answered, now and then to two processes at once. */
  const insist = async (): Promise<void> => {
    const repeat = repeatOf()
    const { random } = repeat.draws
    const answers: RepeatAnswer[] = []
    allAnswers.push(answers)
    for (let tries = 0; tries < TRIES; tries++) {
      const copies = random() < 0.2 ? [send(repeat), send(repeat)] : [send(repeat)]
      const got = (await Promise.all(copies)).filter((one) => one !== undefined)
      answers.push(...got)
      if (got.length > 0 && random() < 0.7) return hit('repeat: answered')
    }
  }

  /**
   * A long call on a process that is out of touch until another has taken the call over; then both come to their end.
   */
  const duel = async (): Promise<void> => {
    const repeat = repeatOf()
    const { pick } = repeat.draws
    const awayMs = SILENT_MS + pick(50, 2_500)
    const pair = parts.cutOff(awayMs)
    if (pair === undefined) return
    const answers: RepeatAnswer[] = []
    allAnswers.push(answers)
    const [first, second] = pair
    const one = send({ ...repeat, lastsMs: pick(1_000, parts.longestCallMs - 50) }, first)
    // Often before the first is back, so that both may come to their end apart from each other.
    const startMs = Math.max(SILENT_MS + 20, awayMs - pick(10, 2_000))
    await new Promise<void>((resolve) => after(startMs, resolve))
    const other = send({ ...repeat, lastsMs: pick(100, 1_500) }, second)
    answers.push(...(await Promise.all([one, other])).filter((answer) => answer !== undefined))
  }

  /** What the caller gets: nothing from a process that died, and nothing after its patience. */
  const send = (repeat: Repeat, counter = parts.counter()): Promise<RepeatAnswer | undefined> =>
    new Promise((resolve) => {
      after(PATIENCE_MS, () => resolve(undefined))
      if (counter === undefined) return resolve(undefined)
      attempt(counter, repeat).then(
        (answer) => counter.alive() && resolve(answer),
        () => resolve(undefined),
      )
    })

  /** With all processes gone: callers were charged what they learnt, or the charge is the house's or was recovered. */
  const check = async (store: Store): Promise<void> => {
    for (const answers of allAnswers) {
      if (new Set(answers.map(({ callId }) => callId)).size > 1) fail('one Idempotency-Key is two calls')
      const said = new Set(answers.map((one) => one.said))
      if (said.size > 1) fail('one Idempotency-Key was given two answers')
      for (const { callId, cost } of answers) {
        const posted = await store.ledger.transfersOf(callId)
        const charged = posted.find(({ kind }) => kind === 'usage')
        if (posted.length === 0) fail('a repeated call was answered, and not billed')
        if (charged === undefined || charged.note === 'recovered') continue
        if (charged.amount !== cost) fail(`a repeated call told ${cost} and is billed ${charged.amount}`)
        hit('repeat: bill exact')
      }
    }
  }

  return { insist, duel, check }
}

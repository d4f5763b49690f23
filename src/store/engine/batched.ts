/**
 * Many of the same in one transaction. What is asked while earlier batches are under way forms the next one: alone, nobody
 * waits; where many ask, they share the transaction, its locks and its way to the disk.
 */
import {
  type AtEnd,
  Busy,
  type Engine,
  type Lane,
  type Row,
  type Run,
  runOne,
  type Statement,
  statement,
  Violation,
} from './engine.ts'

/** Does all of them in the transaction, and answers in their order. */
type Work<Ask, Answer> = {
  readonly work: (run: Run, asks: readonly Ask[], atEnd: AtEnd) => Promise<readonly Answer[]>
}

/** The same where no statement needs another's answer, so that all go in one round trip. */
type AtOnce<Ask, Answer> = {
  readonly statements: (asks: readonly Ask[]) => readonly Statement[]
  readonly read: (rows: readonly (readonly Row[])[], asks: readonly Ask[]) => readonly Answer[]
}

type Batching<Ask, Answer> = (Work<Ask, Answer> | AtOnce<Ask, Answer>) & {
  readonly lane: Lane
  /** False if it waits for no lock. */
  readonly locks?: false
  /** Only asks of one group share a transaction. */
  readonly group: (ask: Ask) => string
  /** No two asks of one name do. */
  readonly name: (ask: Ask) => string
}

type Waiting<Ask, Answer> = { readonly ask: Ask; readonly ends: PromiseWithResolvers<Answer> }

/** So many transactions at a time: one that waits for a lock keeps not all others from theirs. */
const AT_ONCE = 2
const MOST = 64
/** A batch waits so long for a lock. One ask alone waits as long as any transaction may. */
const LOCK_MS = 1_000

/** The function that answers one ask, by batches. */
export const batched = <Ask, Answer>(
  engine: Engine,
  it: Batching<Ask, Answer>,
): ((ask: Ask) => Promise<Answer>) => {
  const together = (asks: readonly Ask[]): Promise<readonly Answer[]> => {
    const waits = it.locks !== false && engine.dialect.locksRows && asks.length > 1
    const briefly = waits ? [statement(`set local lock_timeout = ${LOCK_MS}`)] : []
    if ('work' in it)
      return engine.transaction(it.lane, async (run, atEnd) => {
        const [answers] = await Promise.all([
          it.work(run, asks, atEnd),
          ...briefly.map((one) => runOne(run, one)),
        ])
        return answers
      })
    const { statements, read } = it
    return engine
      .batch(it.lane, [...briefly, ...statements(asks)])
      .then((rows) => read(rows.slice(briefly.length), asks))
  }
  let waiting: Waiting<Ask, Answer>[] = []
  let running = 0
  const takeBatch = (): readonly Waiting<Ask, Answer>[] => {
    const [first] = waiting
    if (first === undefined) return []
    const group = it.group(first.ask)
    const names = new Set<string>()
    const left: Waiting<Ask, Answer>[] = []
    const batch = waiting.filter((one) => {
      const name = it.name(one.ask)
      const fits = names.size < MOST && it.group(one.ask) === group && !names.has(name)
      if (fits) names.add(name)
      else left.push(one)
      return fits
    })
    waiting = left
    return batch
  }
  const doNext = async (): Promise<void> => {
    await engine.gathered?.()
    await doAll(together, takeBatch())
  }
  const goOn = (): void => {
    while (running < AT_ONCE && waiting.length > 0) {
      running++
      void doNext().finally(() => {
        running--
        goOn()
      })
    }
  }
  return (ask) => {
    const ends = Promise.withResolvers<Answer>()
    waiting.push({ ask, ends })
    goOn()
    return ends.promise
  }
}

/** What was undone may be asked again, each by itself: what one of them meets must not fail the others. */
const wasUndone = (error: unknown): boolean => error instanceof Violation || error instanceof Busy

const doAll = async <Ask, Answer>(
  together: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
  batch: readonly Waiting<Ask, Answer>[],
): Promise<void> => {
  if (batch.length === 0) return
  try {
    const answers = await together(batch.map(({ ask }) => ask))
    for (const [at, { ends }] of batch.entries()) {
      const answer = answers[at]
      if (answer === undefined) ends.reject(new Error('an ask of a batch was not answered'))
      else ends.resolve(answer)
    }
  } catch (error) {
    if (wasUndone(error) && batch.length > 1) await Promise.all(batch.map((one) => doAll(together, [one])))
    else for (const { ends } of batch) ends.reject(error)
  }
}

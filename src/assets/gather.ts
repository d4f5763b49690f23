/**
 * Stores small results of the same moment in one step, because the step itself is most of the cost. There is no timer:
 * a result that comes alone waits for no other.
 */
import type { Clock } from '../core/time.ts'
import type { Asset, AssetStore, WholeAsset } from '../store/calls/asset-port.ts'

/** How many turns of the event loop a step waits for more results, as the commits of calls do. */
const TURNS = 4
const MOST = 64

type Waiting = {
  readonly it: WholeAsset
  readonly done: (asset: Asset | undefined) => void
  readonly failed: (error: unknown) => void
}

/** Adds a result as `AssetStore.addWhole` does, together with others. */
export const gather = (
  { store, clock }: { readonly store: Pick<AssetStore, 'addWhole'>; readonly clock: Clock },
  lifeMs: number,
): ((it: WholeAsset) => Promise<Asset | undefined>) => {
  const waiting: Waiting[] = []
  let runs = false
  const step = async (now: readonly Waiting[]): Promise<void> => {
    try {
      const stored = await store.addWhole(
        now.map(({ it }) => it),
        lifeMs,
      )
      for (const [at, { done }] of now.entries()) done(stored[at])
    } catch (error) {
      for (const { failed } of now) failed(error)
    }
  }
  const run = async (): Promise<void> => {
    runs = true
    while (waiting.length > 0) {
      for (let turn = 0; turn < TURNS; turn++) await clock.turn()
      await step(waiting.splice(0, MOST))
    }
    runs = false
  }
  return (it) =>
    new Promise((done, failed) => {
      waiting.push({ it, done, failed })
      if (!runs) void run()
    })
}

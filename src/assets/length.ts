/**
 * How long a stored sound or film is: by what it holds, not by what its head claims. Read in parts, of which few are in memory
 * at a time; whoever made it may have made it to be slow, so that parts and time are bounded.
 */
import type { Input as Reader } from 'mediabunny'

/** What is read of one in all, kept of it, and waited for it. */
const READ_BYTES = 64 * 1024 * 1024
const KEPT_BYTES = 2 * 1024 * 1024
const TOTAL_MS = 20_000

type Stored = {
  readonly bytes: number
  /** The bytes from `start` to before `end`. */
  readonly part: (start: number, end: number) => Promise<Uint8Array>
}

/** Whole milliseconds, rounded up; undefined where it cannot be told. */
export const lengthOf = async ({ bytes, part }: Stored): Promise<number | undefined> => {
  // Loaded when the first one is measured: it is large, and commands and most servers measure none.
  const { ALL_FORMATS, CustomSource, Input } = await import('mediabunny')
  let left = READ_BYTES
  const read = (start: number, end: number): Promise<Uint8Array> => {
    left -= end - start
    return left < 0 ? Promise.reject(new Error('too much of it would have to be read')) : part(start, end)
  }
  const source = new CustomSource({ getSize: () => bytes, read, maxCacheSize: KEPT_BYTES })
  const input = new Input({ formats: ALL_FORMATS, source })
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), TOTAL_MS)
  try {
    const seconds = await Promise.race([secondsOf(input), late])
    return seconds !== undefined && Number.isFinite(seconds) && seconds > 0
      ? Math.ceil(seconds * 1000)
      : undefined
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
    input.dispose()
  }
}

/** How long the last picture of a film stays, some containers tell in their head alone. */
const LAST_SECONDS = 1

const secondsOf = async (input: Reader): Promise<number> => {
  const held = await input.computeDuration()
  const claimed = (await input.getDurationFromMetadata()) ?? held
  return claimed > held && claimed - held <= LAST_SECONDS ? claimed : held
}

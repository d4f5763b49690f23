/**
 * The length of a stored sound or film: by its content, not by what its header claims. It is read in parts, of which
 * few are in memory at a time. The file may have been made to be slow, so parts and time are bounded.
 */
import type { Input as Reader } from 'mediabunny'

/** The most that is read of one file, kept in memory of it, and waited for it. */
const READ_BYTES = 64 * 1024 * 1024
const KEPT_BYTES = 2 * 1024 * 1024
const TOTAL_MS = 20_000

type Stored = {
  readonly bytes: number
  /** The bytes from `start` up to but not including `end`. */
  readonly part: (start: number, end: number) => Promise<Uint8Array>
}

/** Whole milliseconds, rounded up; undefined if it cannot be determined. */
export const lengthOf = async ({ bytes, part }: Stored): Promise<number | undefined> => {
  // Loaded when the first file is measured: it is large, and commands and most servers measure none.
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

/** Some containers give the duration of a film's last frame only in the header. */
const LAST_SECONDS = 1

const secondsOf = async (input: Reader): Promise<number> => {
  const held = await input.computeDuration()
  const claimed = (await input.getDurationFromMetadata()) ?? held
  return claimed > held && claimed - held <= LAST_SECONDS ? claimed : held
}

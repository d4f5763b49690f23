/**
 * The length of a stored sound or film: by its content, not by what its header claims. It is read in parts, of which
 * few are in memory at a time. The file may have been made to take much: what is read is bounded here, time and memory
 * by the process.
 */
import { ALL_FORMATS, CustomSource, Input } from 'mediabunny'
import type { Make } from './work.ts'

/** The most that is read of one file, and kept in memory of it. */
const READ_BYTES = 64 * 1024 * 1024
const KEPT_BYTES = 2 * 1024 * 1024

/** Inputs: `bytes`, the size of the file. The result's `ms` is whole milliseconds, rounded up; null if nobody can tell. */
export const makeLength: Make = async ({ bytes }, _, part) => {
  let left = READ_BYTES
  const read = (start: number, end: number): Promise<Uint8Array> => {
    left -= end - start
    return left < 0 ? Promise.reject(new Error('too much of it would have to be read')) : part(start, end)
  }
  const source = new CustomSource({ getSize: () => Number(bytes), read, maxCacheSize: KEPT_BYTES })
  const input = new Input({ formats: ALL_FORMATS, source })
  try {
    const seconds = await secondsOf(input)
    return { json: { ms: Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds * 1000) : null } }
  } catch {
    return { json: { ms: null } }
  } finally {
    input.dispose()
  }
}

/** Some containers give the duration of a film's last frame only in the header. */
const LAST_SECONDS = 1

const secondsOf = async (input: Input): Promise<number> => {
  const held = await input.computeDuration()
  const claimed = (await input.getDurationFromMetadata()) ?? held
  return claimed > held && claimed - held <= LAST_SECONDS ? claimed : held
}

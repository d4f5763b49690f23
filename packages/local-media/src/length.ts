/**
 * The length of a stored sound or film: by its content, not by what its header claims. It is read in parts, of which
 * few are in memory at a time. The file may have been made to take much: what is read is bounded here, time and memory
 * by the process.
 */
import { ALL_FORMATS, CustomSource, Input } from 'mediabunny'
import type { Make, Part } from '../../../src/vendors/local/product.ts'

/** The most that is read of one file, and kept in memory of it. */
const READ_BYTES = 64 * 1024 * 1024
const KEPT_BYTES = 2 * 1024 * 1024
/** The largest part that is asked for at once. */
const PART_BYTES = 4 * 1024 * 1024

/** Inputs: `bytes`, the size of the file. The result's `ms` is whole milliseconds, rounded up; null if nobody can tell. */
export const makeLength: Make = async ({ bytes }, _, part) => {
  const size = Number(bytes)
  const source = new CustomSource({
    getSize: () => size,
    read: readingAhead(size, part),
    maxCacheSize: KEPT_BYTES,
  })
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

/**
 * Reads parts that become larger as long as they follow one another: each is a request to where the file is, and most
 * files need only a few small ones.
 */
const readingAhead = (size: number, part: Part): Part => {
  let left = READ_BYTES
  let held = { start: 0, end: 0, bytes: new Uint8Array() }
  return async (start, end) => {
    const goesOn = start >= held.start && start <= held.end
    if (!goesOn || end > held.end) {
      const ahead = goesOn ? Math.min(PART_BYTES, 2 * (held.end - held.start)) : 0
      const until = Math.max(end, Math.min(size, start + Math.min(ahead, left)))
      left -= until - start
      if (left < 0) throw new Error('too much of it would have to be read')
      held = { start, end: until, bytes: new Uint8Array(await part(start, until)) }
    }
    // A copy, because a view would keep the whole part in memory.
    return held.bytes.slice(start - held.start, end - held.start)
  }
}

/** Some containers give the duration of a film's last frame only in the header. */
const LAST_SECONDS = 1

const secondsOf = async (input: Input): Promise<number> => {
  const held = await input.computeDuration()
  const claimed = (await input.getDurationFromMetadata()) ?? held
  return claimed > held && claimed - held <= LAST_SECONDS ? claimed : held
}

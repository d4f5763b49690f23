/** The length of stored films and sounds, and how much of them is read to find it. */
import { afterAll, expect, test } from 'bun:test'
import { endlessMp4, wav, webm } from '../../test/local-media/files.ts'
import { openPool } from '../transport/local-media/pool.ts'
import { lengthOf as lengthIn } from './assets.ts'

const pool = openPool({ processes: 1, waiting: 100 })
afterAll(() => pool.close())
const lengthOf = (file: Parameters<typeof lengthIn>[1]) => lengthIn(pool, file)

const stored = (bytes: Uint8Array, size = bytes.length) => {
  const it = { bytes: size, read: 0, largest: 0 }
  const part = async (start: number, end: number): Promise<Uint8Array> => {
    it.read += end - start
    it.largest = Math.max(it.largest, end - start)
    const found = new Uint8Array(end - start)
    found.set(bytes.subarray(start, Math.min(end, bytes.length)))
    return found
  }
  return Object.assign(it, { part })
}

test.each<[string, () => Uint8Array | Promise<Uint8Array>, number | undefined]>([
  ['a film of three seconds', () => webm(3), 3_000],
  ['a film of ten minutes', () => webm(600), 600_000],
  ['a sound of two seconds', () => wav(2), 2_000],
  ['a sound whose head claims ten hours', () => wav(2, 36_000), 2_000],
  ['a film that is cut', async () => (await webm(3)).subarray(0, 60), undefined],
  ['no film at all', () => Buffer.from('hello'), undefined],
  ['nothing', () => new Uint8Array(), undefined],
])('of %s', async (_what, bytes, ms) => {
  expect(await lengthOf(stored(await bytes()))).toBe(ms)
})

test('of half a gigabyte little is read, and never much at a time', async () => {
  const samples = 500_000_000
  const head = wav(0, samples / 32_000)
  const it = stored(head, head.length + samples)
  expect(await lengthOf(it)).toBe((samples / 32_000) * 1000)
  expect(it.read).toBeLessThan(1_000_000)
  expect(it.largest).toBeLessThan(300_000)
})

test('one that would have to be read whole is given up, and so is one that cannot be read', async () => {
  // The largest possible AAC frames, with no end and no index.
  const frame = Buffer.alloc(8_191)
  frame.set([0xff, 0xf1, 0x50, 0x83, 0xff, 0xff, 0xfc])
  const frames = Buffer.concat(Array.from({ length: 1_100 }, () => frame))
  let read = 0
  let asked = 0
  const part = async (start: number, end: number): Promise<Uint8Array> => {
    read += end - start
    asked++
    const at = start % frame.length
    return frames.subarray(at, at + end - start)
  }
  expect(await lengthOf({ bytes: frame.length * 25_000, part })).toBeUndefined()
  // Limited by what was read, not by the time that took.
  expect(read).toBeGreaterThan(63 * 1024 * 1024)
  expect(read).toBeLessThanOrEqual(64 * 1024 * 1024)
  // Each part is a request to the store where the file is.
  expect(asked).toBeLessThan(40)
  expect(
    await lengthOf({ bytes: 5_000, part: () => Promise.reject(new Error('the disk is away')) }),
  ).toBeUndefined()
})

test('a few bytes that claim four milliards of pictures cost a process of their own, never the server', async () => {
  const film = await endlessMp4()
  expect(film.length).toBeLessThan(5_000)
  const before = process.memoryUsage.rss()
  const [trap, behind] = await Promise.all([lengthOf(stored(film)), lengthOf(stored(await webm(3)))])
  expect([trap, behind]).toEqual([undefined, 3_000])
  expect(process.memoryUsage.rss() - before).toBeLessThan(300_000_000)
})

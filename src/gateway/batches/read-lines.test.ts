/** Lines of a batch are read from spans of its file. */
import { expect, test } from 'bun:test'
import type { Assets } from '../../assets/assets.ts'
import { lineReader } from './read-lines.ts'

const LINE = 10
const file = new TextEncoder().encode(
  Array.from({ length: 20 }, (_, n) => `line ${`${n}`.padStart(4)}\n`).join(''),
)

/** A file whose reads are counted, and fail while `fails`. */
const counted = () => {
  const it = { reads: 0, fails: false }
  const part = async (_id: string, { first, last }: { readonly first: number; readonly last: number }) => {
    it.reads++
    await Bun.sleep(0)
    if (it.fails) throw new Error('the disk is away')
    return file.slice(first, last + 1)
  }
  const read = lineReader({ uploads: { part } as unknown as Assets['uploads'] }, 'input', 5 * LINE)
  const lineOf = async (n: number) => new TextDecoder().decode(await read({ at: n * LINE, bytes: LINE }))
  return { it, lineOf }
}

test('lines that are asked for at once wait for one read of their span', async () => {
  const { it, lineOf } = counted()
  const lines = await Promise.all(Array.from({ length: 20 }, (_, n) => lineOf(n)))
  expect(lines.join('')).toBe(new TextDecoder().decode(file))
  expect(it.reads).toBe(4)
})

test('after a read that failed the next line reads again', async () => {
  const { it, lineOf } = counted()
  it.fails = true
  const failed = await Promise.allSettled([lineOf(0), lineOf(1)])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  it.fails = false
  expect(await lineOf(1)).toBe('line    1\n')
})

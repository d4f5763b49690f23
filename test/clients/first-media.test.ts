/** Runs the first calls of docs/media.md unchanged, by a shell and curl, and checks the files that they bring. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { mediaHere } from '../../src/transport/local-media/serve.ts'
import { blocksOf, startDocumented } from './documented.ts'

let it: Awaited<ReturnType<typeof startDocumented>>
beforeAll(async () => {
  it = await startDocumented(mediaHere.models.filter(({ shape }) => shape.flow === 'once'))
})
afterAll(() => it.stop())

const blocks = await blocksOf('media.md')

/** Runs the block that names the file, and returns the file that it wrote. */
const run = async (part: string, file: string): Promise<Buffer> => {
  const block = blocks.find((one) => one.includes(part))
  if (block === undefined) throw new Error(`docs/media.md has no call of ${part}`)
  await it.run(block)
  return readFile(join(it.folder, file))
}

/** The sides of a PNG, and how many different bytes its pixels have. */
const seen = (png: Buffer) => {
  const parts: Buffer[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  const pixels = inflateSync(Buffer.concat(parts))
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20), values: new Set(pixels).size }
}

test('a picture that is one', async () => {
  const { width, height, values } = seen(await run('local/sketch-1', 'lighthouse.png'))
  expect([width, height, values > 20]).toEqual([256, 256, true])
})

test('a QR code in black and white', async () => {
  const { width, height, values } = seen(await run('local/qr-1', 'code.png'))
  expect([width === height, width > 150, values < 20]).toEqual([true, true, true])
})

test('the text of a page', async () => {
  const { text, title, outputs } = JSON.parse((await run('local/page-text-1', 'page.json')).toString())
  expect([title, text, outputs[0].type]).toEqual(['Tides', 'The sea rises twice a day.', 'text'])
})

const speaks = mediaHere.models.some(({ name }) => name === 'speech-1')

test.skipIf(!speaks)('a sentence that is heard, and as long as a file as it is', async () => {
  const wav = await run('local/speech-1', 'tides.wav')
  const data = wav.subarray(wav.indexOf('data') + 8)
  const seconds = data.length / wav.readUInt32LE(28)
  const samples = new Int16Array(data.buffer.slice(data.byteOffset, data.byteOffset + (data.length & ~1)))
  const loud = samples.filter((one) => Math.abs(one) > 1_000).length
  expect([seconds > 1, seconds < 5, loud > samples.length / 10]).toEqual([true, true, true])
  const info = JSON.parse((await run('local/media-info-1', 'info.json')).toString())
  expect(Math.abs(info.seconds - seconds)).toBeLessThan(0.1)
})

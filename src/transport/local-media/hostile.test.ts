/**
 * Inputs that try to use up memory, time or other people's machines are refused within limits, and the server stays
 * healthy.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { constants, deflateRawSync, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { dataUrl, verdictOf } from '../../../test/local-media/ask.ts'
import { blankPng, pdfOf, pdfPage, wav, webm } from '../../../test/local-media/files.ts'
import type { JsonObject } from '../../core/json-body.ts'
import type { PublicParts } from '../public-address.ts'
import { openPool } from './pool.ts'
import { serveMedia } from './serve.ts'

const pool = openPool()
const vendor = serveMedia({ pool })
afterAll(() => pool.close())

/** Why the caller's inputs were refused. */
const refusal = async (name: string, inputs: JsonObject, by = vendor): Promise<string> => {
  const verdict = await verdictOf(by, name, inputs)
  if (verdict.verdict !== 'failed') throw new Error(`${name} answered ${verdict.verdict}`)
  expect(verdict.fault).toBe('inputs')
  return verdict.message
}

/** How much this process grew while the work was done. */
const grownBy = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.memoryUsage.rss()
  await work()
  return process.memoryUsage.rss() - before
}

const MB = 1_000_000

describe('pictures', () => {
  const bomb = blankPng(16_000, 16_000)

  test('256 megapixels in a few kilobytes are not unpacked', async () => {
    expect(bomb.length).toBeLessThan(750_000)
    const image = dataUrl('image/png', bomb)
    expect(await refusal('ocr-1', { image })).toContain('at most 12000000')
    expect(await refusal('image-tools-1', { image })).toContain('more than 50000000 pixels')
  })

  test('a JPEG whose head claims 65535² is not either', async () => {
    const jpeg = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'red' } })
      .jpeg()
      .toBuffer()
    const frame = jpeg.indexOf(Uint8Array.from([0xff, 0xc0]))
    expect(frame).toBeGreaterThan(0)
    jpeg.writeUInt32BE(0xffffffff, frame + 5)
    const image = dataUrl('image/jpeg', jpeg)
    expect(await refusal('ocr-1', { image })).toContain('at most 12000000')
    expect(await refusal('image-tools-1', { image })).toContain("'image' cannot be read")
  })

  test('SVG and other formats are not read, whatever they are called', async () => {
    const svg = Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
    )
    for (const name of ['image-tools-1', 'ocr-1'])
      expect(await refusal(name, { image: dataUrl('image/png', svg) })).toContain("'image'")
  })

  test('a picture that is all width does not become one that is all height', async () => {
    const image = dataUrl('image/png', blankPng(1, 20_000))
    const verdict = await verdictOf(vendor, 'image-tools-1', { image, width: 4_096 })
    expect(verdict).toMatchObject({ verdict: 'done', body: { images: [{ width: 1, height: 4_096 }] } })
  })
})

/** A stream of zlib that unpacks to `megabytes` of blanks. */
const blanks = (megabytes: number): Uint8Array => {
  const unit = Buffer.alloc(16 * MB, ' ')
  const piece = deflateRawSync(unit, { level: 9, finishFlush: constants.Z_FULL_FLUSH })
  const count = Math.ceil(megabytes / 16)
  return Buffer.concat([
    Buffer.from([0x78, 0xda]),
    ...Array<Buffer>(count).fill(piece),
    Buffer.from([3, 0, 0, 0, 0, 0]),
  ])
}

describe('documents', () => {
  test('a PDF that unpacks to gigabytes takes none of the memory of the server', async () => {
    const bomb = pdfOf([
      { filter: '/Filter[/FlateDecode/FlateDecode]', bytes: deflateSync(blanks(6_000), { level: 9 }) },
    ])
    expect(bomb.length).toBeLessThan(200_000)
    const grown = await grownBy(async () =>
      expect(await refusal('pdf-text-1', { url: dataUrl('application/pdf', bomb) })).toMatch(
        /memory|cannot be read/,
      ),
    )
    expect(grown).toBeLessThan(300 * MB)
    // The next document is read as usual.
    const next = await verdictOf(vendor, 'pdf-text-1', {
      url: dataUrl('application/pdf', pdfOf([pdfPage('well')])),
    })
    expect(next).toMatchObject({ verdict: 'done', outputs: [{ text: 'well' }] })
  })

  test('a PDF that claims a million pages is not believed', async () => {
    const text = Buffer.from(pdfOf([pdfPage('one')]))
      .toString('latin1')
      .replace('/Count 1', '/Count 999999')
    const verdict = await verdictOf(vendor, 'pdf-text-1', {
      url: dataUrl('application/pdf', Buffer.from(text, 'latin1')),
      max_pages: 500,
    })
    expect(verdict).not.toMatchObject({ measured: { page: 500 } })
  })

  test('tags without end, and deep ones, take linear time', async () => {
    for (const html of [
      '<div>'.repeat(300_000),
      '<a '.repeat(500_000),
      '&#38;'.repeat(300_000),
      '<!--'.repeat(400_000),
    ])
      expect(await verdictOf(vendor, 'page-text-1', { html })).toMatchObject({ verdict: 'done' })
  })
})

describe('sounds and films', () => {
  test('a head that claims ten hours is not believed', async () => {
    const url = dataUrl('audio/wav', wav(1, 36_000))
    const verdict = await verdictOf(vendor, 'media-info-1', { url })
    expect(verdict).toMatchObject({ verdict: 'done', body: { seconds: 1 } })
  })

  test('a file that is no sound is refused with the reason', async () => {
    const url = dataUrl('audio/wav', Buffer.from('not a sound at all'))
    expect(await refusal('media-info-1', { url })).toContain('no sound or film')
    expect(await refusal('trim-1', { url, end: 1 })).toContain('no sound or film')
  })
})

/** Changes bytes at places that a seed decides. */
const damaged = (bytes: Uint8Array, seed: number): Uint8Array => {
  const copy = Uint8Array.from(bytes)
  // Half of them keep the first bytes, which show the type.
  const kept = seed > 12 ? 16 : 0
  let state = seed
  for (let count = 0; count < 12; count++) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    copy[kept + (state % (Math.min(copy.length, 4_000) - kept))] = state >> 8
  }
  return copy
}

test('damaged files are delivered or refused, never a fault of ours', async () => {
  const picture = await sharp({ create: { width: 90, height: 60, channels: 3, background: 'white' } })
    .png()
    .toBuffer()
  const files: [string, string, Uint8Array, JsonObject][] = [
    ['ocr-1', 'image/png', picture, {}],
    ['image-tools-1', 'image/png', picture, { width: 30 }],
    ['pdf-text-1', 'application/pdf', pdfOf([pdfPage('one'), pdfPage('two')]), {}],
    ['media-info-1', 'video/webm', await webm(3), {}],
    ['trim-1', 'video/webm', await webm(3), { start: 1, end: 2 }],
    ['trim-1', 'audio/wav', wav(1), { start: 0.2, end: 0.7 }],
  ]
  const seen: Record<string, number> = {}
  for (const [name, type, bytes, more] of files)
    for (let seed = 1; seed <= 24; seed++) {
      const from = dataUrl(type, damaged(bytes, seed))
      const inputs = type.startsWith('image/') ? { image: from, ...more } : { url: from, ...more }
      const { verdict } = await verdictOf(vendor, name, inputs)
      seen[verdict] = (seen[verdict] ?? 0) + 1
    }
  expect(Object.keys(seen).sort()).toEqual(['done', 'failed'])
})

describe('addresses', () => {
  const requests: string[] = []
  const from = (it: Partial<PublicParts> & { answer?: () => Response }) =>
    serveMedia({
      pool,
      get: {
        resolve: it.resolve ?? (async () => ['1.1.1.1']),
        fetch: async (url) => {
          requests.push(url)
          return it.answer?.() ?? new Response('<p>text')
        },
      },
    })
  const page = (by: ReturnType<typeof from>, url = 'https://example.com/') =>
    refusal('page-text-1', { url }, by)

  test.each([
    'https://127.0.0.1/',
    'https://[::ffff:127.0.0.1]/',
    'https://2130706433/',
    'https://localhost/',
    'https://169.254.169.254/',
    'https://a:b@example.com/',
    'https://example.com:8443/',
  ])('%s is not asked', async (url) => {
    const before = requests.length
    expect(await page(from({}), url)).toContain('not public')
    expect(requests.length).toBe(before)
  })

  test('a name that leads inwards is not asked, and the connection goes to the address that was checked', async () => {
    const before = requests.length
    expect(await page(from({ resolve: async () => ['1.1.1.1', '10.0.0.1'] }))).toContain('not public')
    expect(requests.length).toBe(before)
    await verdictOf(from({}), 'page-text-1', { url: 'https://example.com/a' })
    expect(requests.at(-1)).toBe('https://1.1.1.1/a')
  })

  test.each(['http://169.254.169.254/', 'https://10.0.0.1/', 'file:///etc/passwd', 'http://example.com/'])(
    'a redirect to %s is not followed',
    async (location) => {
      const before = requests.length
      const answer = () => new Response(null, { status: 302, headers: { location } })
      expect(await page(from({ answer }))).toContain('not public')
      expect(requests.length).toBe(before + 1)
    },
  )

  test('redirects in a circle end', async () => {
    const answer = () => new Response(null, { status: 302, headers: { location: '/again' } })
    expect(await page(from({ answer }))).toContain('more than 3 times')
  })

  test('a page without end is cut off at its limit', async () => {
    let sent = 0
    let cancelled = false
    const answer = () =>
      new Response(
        new ReadableStream({
          pull: (controller) => {
            sent += 100_000
            controller.enqueue(Buffer.alloc(100_000, '<p>more'))
          },
          cancel: () => {
            cancelled = true
          },
        }),
      )
    expect(await page(from({ answer }))).toContain('larger than 5000000')
    expect(cancelled).toBe(true)
    expect(sent).toBeLessThan(6_000_000)
  })

  test('what says that it is too large, compressed or missing is not read', async () => {
    const say = (headers: Record<string, string>, status = 200) =>
      page(from({ answer: () => new Response('<p>a', { status, headers }) }))
    expect(await say({ 'content-length': '900000000' })).toContain('larger than')
    expect(await say({ 'content-encoding': 'gzip' })).toContain('compressed')
    expect(await say({}, 404)).toContain('404')
  })

  test('inline bytes are limited too', async () => {
    const image = `data:image/png;base64,${'A'.repeat(28_000_000)}`
    expect(await refusal('ocr-1', { image })).toContain('larger than 20000000')
  })
})

test('no more calls are open at once than the server has room for', async () => {
  const never = new Promise<readonly string[]>(() => undefined)
  const full = serveMedia({ pool, get: { resolve: () => never, fetch: () => Promise.reject(new Error()) } })
  const ask = (keyId: string) =>
    full('local:/media/page-text-1', { method: 'POST', body: '{"url":"https://example.com/"}' }, { keyId })
  const isOpen = (answer: Promise<Response>) =>
    Promise.race([answer.then(({ status }) => status), Bun.sleep(50).then(() => 'open')])
  // One key takes a quarter of the places, and leaves the others to others.
  const greedy = Array.from({ length: 16 }, () => isOpen(ask('greedy')))
  expect(await Promise.all(greedy)).toEqual([...Array(4).fill('open'), ...Array(12).fill(503)])
  for (const key of ['a', 'b', 'c']) for (let n = 0; n < 4; n++) expect(await isOpen(ask(key))).toBe('open')
  const refused = await ask('d')
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('5')
  // A job does nothing but wait: as many are open as a key may have.
  for (let job = 0; job < 20; job++)
    expect((await full('local:/media/slow-1', { method: 'POST', body: '{"prompt":"a fox"}' })).status).toBe(
      202,
    )
})

/** Each built-in product, from its record to its real result: images, sounds and texts are read back and checked. */
import { expect, test } from 'bun:test'
import readQr from 'jsqr'
import { ALL_FORMATS, BufferSource, Input } from 'mediabunny'
import sharp from 'sharp'
import { localFetch } from '../../../src/transport/local.ts'
import { serveMedia } from '../../../src/transport/local-media/serve.ts'
import { openSlowJobs } from '../../../src/transport/local-media/slow-jobs.ts'
import { bytesMade, dataUrl, exchange, made, products, recordOf } from '../../../test/local-media/ask.ts'
import { pdfOf, pdfPage, wav, webm } from '../../../test/local-media/files.ts'

/** Width, height and pixels as another decoder reads them. */
const pixelsOf = async (picture: Uint8Array) => {
  const { data, info } = await sharp(picture).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
  return { width: info.width, height: info.height, data: new Uint8ClampedArray(data) }
}

const textOf = async (name: string, inputs: Record<string, string | number>) => {
  const [output] = (await made(name, inputs)).outputs
  return output?.type === 'text' ? output.text : undefined
}

test('all ten are here, with the optional packages', () => {
  expect(products.map(({ name }) => name)).toEqual([
    ...['sketch-1', 'qr-1', 'page-text-1', 'trim-1', 'media-info-1', 'slow-1'],
    ...['speech-1', 'ocr-1', 'pdf-text-1', 'image-tools-1'],
  ])
})

test('the vendor answers for them beside chat', async () => {
  const body = JSON.stringify({ prompt: 'a hill', size: '64x64' })
  const response = await localFetch('local:/media/sketch-1', { method: 'POST', body })
  expect(response.status).toBe(200)
  const missing = await localFetch('local:/media/nothing-1', { method: 'POST', body })
  expect(missing.status).toBe(404)
  const wrong = await localFetch('local:/media/sketch-1', {
    method: 'POST',
    body: '{"prompt":"a","sizes":1}',
  })
  expect(await wrong.json()).toMatchObject({ error: { param: 'inputs.sizes', code: 'invalid_parameter' } })
})

test('sketch-1 draws n pictures of the asked size, which the prompt decides', async () => {
  const inputs = { prompt: 'a hill', n: 3, size: '200x120' }
  const { outputs, measured, body } = await made('sketch-1', inputs)
  expect(measured).toEqual({ image: 3 })
  expect(body).toEqual({ images: Array(3).fill({ url: null, width: 200, height: 120 }) })
  const first = await pixelsOf(await bytesMade('sketch-1', inputs))
  expect([first.width, first.height]).toEqual([200, 120])
  // A pattern, not a single colour.
  expect(new Set(new Uint32Array(first.data.buffer)).size).toBeGreaterThan(500)
  expect(new Set(outputs.map((output) => JSON.stringify(output.type === 'image' && output.from))).size).toBe(
    3,
  )
  expect(await bytesMade('sketch-1', inputs)).toEqual(await bytesMade('sketch-1', inputs))
  expect(await bytesMade('sketch-1', inputs)).not.toEqual(
    await bytesMade('sketch-1', { ...inputs, prompt: 'a hill.' }),
  )
})

test.each(['L', 'M', 'Q', 'H'])('qr-1 at level %s is read by a decoder, also beyond ASCII', async (level) => {
  for (const text of ['https://example.com/?a=1&b=2', 'Grüße, 東京 🚲', 'x'.repeat(900)]) {
    const picture = await bytesMade('qr-1', { text, error_correction: level, scale: 4 })
    const { data, width, height } = await pixelsOf(picture)
    expect(readQr(data, width, height)?.data).toBe(text)
  }
})

test('qr-1 refuses what no code holds', async () => {
  await expect(made('qr-1', { text: 'x'.repeat(2_000), error_correction: 'H' })).rejects.toThrow('too long')
})

test('page-text-1 reads what is seen of a page', async () => {
  const html = `<!doctype html><html lang="en-GB"><head><title>Tides &amp; moon</title><style>p{}</style>
    <body><h1>Tides</h1><p>The sea\n rises <b>twice</b> a&nbsp;day&#8212;nearly.<script>var a = '<p>no</p>'</script>
    <ul><li>ebb<li>flood</ul><template>unseen</template><br>end`
  const { outputs, body, measured } = await made('page-text-1', { html })
  expect(outputs).toEqual([
    { type: 'text', text: 'Tides\nThe sea rises twice a day—nearly.\nebb\nflood\nend' },
  ])
  expect(body).toMatchObject({ title: 'Tides & moon', language: 'en-GB' })
  expect(measured).toEqual({ page: 1 })
})

test('page-text-1 fetches a page, in the letters that it says it is in', async () => {
  const page = Buffer.from('<meta charset="iso-8859-1"><p>Gr\xfc\xdfe', 'latin1')
  const vendor = serveMedia({
    get: { resolve: async () => ['1.1.1.1'], fetch: async () => new Response(page) },
  })
  const body = JSON.stringify({ url: 'https://example.com/' })
  const response = await vendor('local:/media/page-text-1', { method: 'POST', body })
  expect(await response.json()).toMatchObject({ text: 'Grüße' })
})

const openMedia = (bytes: Uint8Array<ArrayBuffer>) =>
  new Input({ formats: ALL_FORMATS, source: new BufferSource(bytes) })

test('trim-1 cuts a sound to the asked length', async () => {
  const url = dataUrl('audio/wav', wav(5))
  const cut = openMedia(await bytesMade('trim-1', { url, start: 1, end: 3.5 }))
  expect(await cut.computeDuration()).toBeCloseTo(2.5, 2)
  const rest = openMedia(await bytesMade('trim-1', { url, start: 4, end: 60 }))
  expect(await rest.computeDuration()).toBeCloseTo(1, 2)
  await expect(made('trim-1', { url, start: 6, end: 7 })).rejects.toThrow('behind the end')
})

test('trim-1 cuts a film, from the key frame before the start', async () => {
  const url = dataUrl('video/webm', await webm(6))
  const { outputs, body } = await made('trim-1', { url, start: 2.5, end: 4 })
  expect(outputs[0]?.type).toBe('video')
  expect(body).toMatchObject({ video: { media_type: 'video/webm' } })
  const cut = openMedia(await bytesMade('trim-1', { url, start: 2.5, end: 4 }))
  const seconds = (await cut.computeDuration()) - (await cut.getFirstTimestamp())
  expect(seconds).toBeGreaterThanOrEqual(1.5)
  expect(seconds).toBeLessThanOrEqual(2.01)
})

test('media-info-1 gives tracks and length', async () => {
  const { body } = await made('media-info-1', { url: dataUrl('video/webm', await webm(6)) })
  expect(body).toMatchObject({
    format: 'WebM',
    tracks: [{ type: 'video', codec: 'vp8', width: 320, height: 180 }],
  })
  // WebM does not state the duration of the last frame.
  expect(Number(body.seconds)).toBeCloseTo(5.9, 3)
  const sound = await made('media-info-1', { url: dataUrl('audio/wav', wav(2)) })
  expect(sound.body).toMatchObject({
    format: 'WAVE',
    seconds: 2,
    tracks: [{ sample_rate: 16_000, channels: 1 }],
  })
})

/** Seconds and loudness (root mean square, of 32768) of a WAV of 16 bits. */
const heard = (file: Uint8Array) => {
  const view = new DataView(file.buffer, file.byteOffset + 44)
  const samples = Math.floor(view.byteLength / 2)
  let sum = 0
  for (let at = 0; at < samples; at++) sum += view.getInt16(2 * at, true) ** 2
  return { seconds: samples / 16_000, loudness: Math.sqrt(sum / samples) }
}

test.each(['slt', 'rms', 'awb', 'kal'])('speech-1 speaks with the voice %s', async (voice) => {
  const text = 'The quick brown fox jumps over the lazy dog.'
  const file = await bytesMade('speech-1', { text, voice })
  const input = openMedia(file)
  expect(await input.getMimeType()).toBe('audio/wav')
  const { seconds, loudness } = heard(file)
  expect(seconds).toBeGreaterThan(2)
  expect(seconds).toBeLessThan(5)
  expect(await input.computeDuration()).toBeCloseTo(seconds, 3)
  expect(loudness).toBeGreaterThan(500)
  const slow = heard(await bytesMade('speech-1', { text, voice, speed: 0.5 }))
  expect(slow.seconds / seconds).toBeGreaterThan(1.6)
})

test('speech-1 counts letters, takes options for words, and is silent about nothing it cannot say', async () => {
  const { measured } = await made('speech-1', { text: '--help -o /etc/passwd' })
  expect(measured).toEqual({ character: 21 })
  expect(heard(await bytesMade('speech-1', { text: '東京 \0 hello' })).loudness).toBeGreaterThan(100)
})

/** An image with a printed line. */
const printed = (text: string) =>
  sharp(
    Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="120"><rect width="640" height="120" fill="white"/>` +
        `<text x="20" y="75" font-size="40" font-family="DejaVu Sans, sans-serif">${text}</text></svg>`,
    ),
  )

test('ocr-1 reads a printed line, in PNG and JPEG', async () => {
  const picture = printed('Invoice 4217 paid')
  const png = dataUrl('image/png', await picture.png().toBuffer())
  const jpeg = dataUrl('image/jpeg', await picture.jpeg().toBuffer())
  expect((await textOf('ocr-1', { image: png }))?.trim()).toBe('Invoice 4217 paid')
  expect((await textOf('ocr-1', { image: jpeg }))?.trim()).toBe('Invoice 4217 paid')
})

test('pdf-text-1 reads so many pages, and is paid for those', async () => {
  const url = dataUrl('application/pdf', pdfOf(['One fish', 'Two fish', 'Three'].map(pdfPage)))
  const { outputs, body, measured } = await made('pdf-text-1', { url, max_pages: 2 })
  expect(outputs).toEqual([{ type: 'text', text: 'One fish\n\nTwo fish' }])
  expect(body).toMatchObject({ pages: ['One fish', 'Two fish'], total_pages: 3 })
  expect(measured).toEqual({ page: 2 })
})

test('image-tools-1 makes pictures of the asked size and type', async () => {
  const image = dataUrl('image/png', await printed('wide').png().toBuffer())
  const kinds = async (inputs: Record<string, string | number>) => {
    const { format, width, height } = await sharp(
      await bytesMade('image-tools-1', { image, ...inputs }),
    ).metadata()
    return [format, width, height]
  }
  expect(await kinds({ width: 320, format: 'webp' })).toEqual(['webp', 320, 60])
  expect(await kinds({ width: 100, height: 100, fit: 'cover', format: 'jpeg' })).toEqual(['jpeg', 100, 100])
  expect(await kinds({})).toEqual(['png', 640, 120])
  expect(await kinds({ height: 4_096 })).toEqual(['png', 4_096, 768])
})

const shape = recordOf('slow-1').shape

const jobs = () => {
  if (shape.flow !== 'job') throw new Error('slow-1 is a job')
  let now = 1_000_000
  const open = () => serveMedia({ jobs: openSlowJobs(() => now) })
  let vendor = open()
  return {
    shape,
    send: (outgoing: Parameters<typeof exchange>[1]) => exchange(vendor, outgoing),
    pass: (ms: number) => {
      now += ms
    },
    restart: () => {
      vendor = open()
    },
  }
}

const submitted = async (inputs: Record<string, string | number>) => {
  const it = jobs()
  const all = { seconds: 5, outcome: 'done', prompt: 'a hill', ...inputs }
  const [upstreamName, job] = ['slow-1', { id: 'call' }]
  const answer = await it.send(it.shape.ask(all, upstreamName, job))
  const read = it.shape.readRef(answer, { inputs: all, upstreamName, job, step: 0 })
  if (read === undefined || !('ref' in read)) throw new Error('no job')
  const { ref } = read
  const poll = async () => it.shape.readPoll(await it.send(it.shape.poll(ref)), { ref, step: 0 })
  return { ...it, ref, poll }
}

test('slow-1 takes its time, and is done also after a restart', async () => {
  const { poll, pass, restart, ref } = await submitted({})
  expect(await poll()).toEqual({ pending: true, progress: 0 })
  pass(2_500)
  restart()
  expect(await poll()).toEqual({ pending: true, progress: 0.5 })
  pass(2_500)
  const done = await poll()
  expect(done).toMatchObject({ verdict: 'done', measured: { image: 1 } })
  expect(await poll()).toEqual(done)
  // The name is stored durably, so it must not contain the prompt.
  expect(Buffer.from(String(ref.job), 'base64url').toString()).not.toContain('hill')
})

test('slow-1 fails and is blocked when asked to', async () => {
  const failing = await submitted({ outcome: 'failed', seconds: 0 })
  expect(await failing.poll()).toMatchObject({ verdict: 'failed', fault: 'vendor' })
  const blocked = await submitted({ outcome: 'blocked', seconds: 0 })
  expect(await blocked.poll()).toEqual({ verdict: 'blocked' })
})

test('slow-1 is cancelled while it runs, not after; a job that never was is not found', async () => {
  const { shape, send, poll, pass, ref } = await submitted({})
  const cancel = shape.cancel?.(ref)
  if (cancel === undefined) throw new Error('no cancel')
  expect((await send(cancel)).json).toMatchObject({ status: 'cancelled' })
  pass(10_000)
  expect(await poll()).toEqual({ verdict: 'cancelled' })
  const ended = await submitted({ seconds: 0 })
  expect((await ended.send(shape.cancel?.(ended.ref) ?? cancel)).json).toMatchObject({ status: 'succeeded' })
  expect((await send(shape.poll({ job: 'e30' }))).status).toBe(404)
  expect((await send(shape.poll({ job: '../x' }))).status).toBe(404)
})

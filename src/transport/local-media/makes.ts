/** Which function makes which product; packages are loaded by the first call that needs them. */
import type { Make } from './work.ts'

/** The length of a stored sound or film; no product, but the same strangers' files. */
export const LENGTH = 'length'

export const makes: Readonly<Record<string, () => Promise<Make>>> = {
  [LENGTH]: async () => (await import('./length.ts')).makeLength,
  'sketch-1': async () => (await import('./sketch.ts')).makeSketch,
  'qr-1': async () => (await import('./qr.ts')).makeQr,
  'page-text-1': async () => (await import('./page-text.ts')).makePageText,
  'trim-1': async () => (await import('./clip.ts')).makeTrim,
  'media-info-1': async () => (await import('./clip.ts')).makeMediaInfo,
  'speech-1': async () => (await import('./speech.ts')).makeSpeech,
  'ocr-1': async () => (await import('./ocr.ts')).makeOcr,
  'pdf-text-1': async () => (await import('./pdf-text.ts')).makePdfText,
  'image-tools-1': async () => (await import('./image-tools.ts')).makeImage,
}

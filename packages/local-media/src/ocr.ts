/**
 * Reads printed text in images with the core of Tesseract, compiled to WebAssembly and used without the package around
 * it.
 */
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Tesseract } from 'tesseract.js-core/tesseract-core-simd-lstm.js'
import type { Make } from '../../../src/vendors/local/product.ts'
import { pictureHead } from './picture-size.ts'
import { WrongInput } from './wrong-input.ts'

const PIXELS_MAX = 12_000_000
/** Use only its neural network. */
const LSTM_ONLY = 1

let loaded: Promise<{ core: Tesseract; reader: InstanceType<Tesseract['TessBaseAPI']> }> | undefined

const load = async () => {
  const { default: start } = await import('tesseract.js-core/tesseract-core-simd-lstm.js')
  const silent = () => undefined
  const core = await start({ print: silent, printErr: silent, TesseractProgress: silent })
  const folder = dirname(Bun.resolveSync('@tesseract.js-data/eng/package.json', import.meta.dir))
  const packed = await Bun.file(join(folder, '4.0.0_best_int', 'eng.traineddata.gz')).bytes()
  core.FS.writeFile('eng.traineddata', gunzipSync(packed))
  const reader = new core.TessBaseAPI()
  if (reader.Init(null, 'eng', LSTM_ONLY) !== 0) throw new Error('the language could not be loaded')
  return { core, reader }
}

const check = (bytes: Uint8Array) => {
  const head = pictureHead(bytes)
  if (head?.pixels === undefined)
    throw new WrongInput('image', "'image' must be a PNG or JPEG picture to be read")
  if (head.pixels > PIXELS_MAX)
    throw new WrongInput('image', `'image' has ${head.pixels} pixels; at most ${PIXELS_MAX} are read`)
}

/** The text, and the reader's confidence in it, from 0 to 1. */
export const makeOcr: Make = async (_, bytes) => {
  check(bytes)
  loaded ??= load()
  const { core, reader } = await loaded
  core.FS.writeFile('/input', bytes)
  try {
    if (reader.SetImageFile(1, 0) !== 0) throw new WrongInput('image', "'image' cannot be read as a picture")
    reader.Recognize(null)
    return { json: { text: reader.GetUTF8Text(), confidence: reader.MeanTextConf() / 100 } }
  } finally {
    reader.Clear()
    core.FS.unlink('/input')
  }
}

/** The bytes that a product works on: inline in a `data:` address, or fetched from an https one. */
import type { JsonObject } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import type { PublicParts } from '../public-address.ts'
import { getPublic } from './get-public.ts'
import { WrongInput } from './work.ts'

/** The input that names the bytes, and how many there may be. */
const sources: Readonly<Record<string, { readonly field: string; readonly bytesMax: number }>> = {
  'page-text-1': { field: 'url', bytesMax: 5_000_000 },
  'trim-1': { field: 'url', bytesMax: 64_000_000 },
  'media-info-1': { field: 'url', bytesMax: 64_000_000 },
  'ocr-1': { field: 'image', bytesMax: 20_000_000 },
  'image-tools-1': { field: 'image', bytesMax: 20_000_000 },
  'pdf-text-1': { field: 'url', bytesMax: 32_000_000 },
}

const tooLarge = (field: string, most: number) =>
  new WrongInput(field, `'${field}' is larger than ${most} bytes`)

const inline = (text: string, field: string, most: number): Uint8Array<ArrayBuffer> => {
  const start = text.indexOf(',') + 1
  if (((text.length - start) * 3) / 4 > most + 2) throw tooLarge(field, most)
  return new Uint8Array(Buffer.from(text.slice(start), 'base64'))
}

/** Undefined if the inputs name none. Rejects with WrongInput. */
export const bytesFor = async (
  parts: PublicParts,
  product: string,
  inputs: JsonObject,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | undefined> => {
  const source = sources[product]
  const from = source === undefined ? undefined : inputs[source.field]
  if (source === undefined || typeof from !== 'string') return undefined
  const { field, bytesMax } = source
  if (from.startsWith('data:')) return inline(from, field, bytesMax)
  try {
    return await getPublic(parts, from, bytesMax, signal)
  } catch (thrown) {
    throw new WrongInput(field, `'${field}' ${messageOf(thrown)}`)
  }
}

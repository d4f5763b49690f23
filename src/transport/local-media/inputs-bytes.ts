/** The bytes that a product works on: inline in a `data:` address, or fetched from an https one. */
import type { JsonObject } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import type { LocalProduct } from '../../vendors/local/product.ts'
import type { PublicParts } from '../public-address.ts'
import { getPublic } from './get-public.ts'
import { WrongInput } from './work.ts'

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
  source: LocalProduct['bytesFrom'],
  inputs: JsonObject,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | undefined> => {
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

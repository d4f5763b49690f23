/**
 * Calls the built-in products as the gateway does: from the record through the vendor's own fetch to the meaning of the
 * answer.
 */

import type { JsonObject } from '../../src/core/json-body.ts'
import { parseJson } from '../../src/core/json-body.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { readInputs } from '../../src/media/inputs.ts'
import type { Outgoing, VendorAnswer, Verdict } from '../../src/media/shape.ts'
import { mediaHere, serveMedia } from '../../src/transport/local-media/serve.ts'
import type { VendorFetch } from '../../src/vendors/setup.ts'

export const products = mediaHere.models

export const recordOf = (name: string) => {
  const record = products.find((one) => one.name === name)
  if (record === undefined) throw new Error(`${name} is not sold here`)
  return record
}

/** Sends the request of a shape. */
export const exchange = async (
  vendor: VendorFetch,
  { method, path, body }: Outgoing,
): Promise<VendorAnswer> => {
  const text = body !== undefined && 'json' in body ? JSON.stringify(body.json) : undefined
  const response = await vendor(`local:${path}`, { method, ...(text === undefined ? {} : { body: text }) })
  const bytes = await response.bytes()
  const header = (name: string) => response.headers.get(name) ?? undefined
  const json = /json/.test(header('content-type') ?? '')
    ? parseJson(new TextDecoder().decode(bytes))
    : undefined
  return { status: response.status, header, bytes, json }
}

/** The result of a product that answers at once. */
export const verdictOf = async (vendor: VendorFetch, name: string, given: JsonObject): Promise<Verdict> => {
  const record = recordOf(name)
  if (record.shape.flow !== 'once') throw new Error(`${name} is a job`)
  const inputs = readInputs(record, given)
  if (inputs instanceof Refusal) throw new Error(inputs.message)
  const answer = await exchange(vendor, record.shape.ask(inputs, name))
  const verdict = record.shape.read(answer, inputs)
  if (verdict === undefined) throw new Error(`${answer.status} ${new TextDecoder().decode(answer.bytes)}`)
  return verdict
}

const vendor = serveMedia()

/** What the product delivers; throws with the reason where it does not. */
export const made = async (name: string, inputs: JsonObject) => {
  const verdict = await verdictOf(vendor, name, inputs)
  if (verdict.verdict !== 'done') throw new Error(JSON.stringify(verdict))
  return verdict
}

/** The bytes of the first output. */
export const bytesMade = async (name: string, inputs: JsonObject): Promise<Uint8Array<ArrayBuffer>> => {
  const [output] = (await made(name, inputs)).outputs
  if (output === undefined || !('from' in output)) throw new Error('no media')
  if ('bytes' in output.from) return new Uint8Array(output.from.bytes)
  if ('base64' in output.from) return new Uint8Array(Buffer.from(output.from.base64, 'base64'))
  throw new Error('an address')
}

export const dataUrl = (mediaType: string, bytes: Uint8Array): string =>
  `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`

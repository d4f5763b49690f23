/**
 * `POST /v1/videos`: a film as clients of OpenAI ask for it, as the inputs of a product. Source of the format: OpenAI API
 * reference, "Create video". The body is a form, or JSON.
 */
import type { Call } from '../../core/call.ts'
import { isObject, type Json, type JsonBody, type JsonObject } from '../../core/json-body.ts'
import type { Product } from '../../core/model.ts'
import { invalid, Refusal, refuse } from '../../core/refusal.ts'
import { ratioOf, sizeInputs } from '../../media/image-size.ts'
import { inputsOf, type ModelNamed, mediaCall, productNamed, TAKES_NO_IMAGES } from './media-calls.ts'

/** Members of the API, each with the names that products have for it. */
const NAMES = { prompt: ['prompt', 'promptText'], seconds: ['duration', 'duration_seconds', 'seconds'] }
const REFERENCE = ['input_reference', 'input_reference[image_url]', 'input_reference[file_id]']
const OWN = ['prompt', 'seconds', 'size', ...REFERENCE]

const nameIn = ({ inputs }: Product, member: keyof typeof NAMES): string =>
  NAMES[member].find((name) => inputs.includes(name)) ?? member

/** The values among which the product lets choose for an input. */
const choicesOf = ({ schema }: Product, name: string): readonly Json[] => {
  const { properties } = schema()
  const input = isObject(properties) ? properties[name] : undefined
  return isObject(input) && Array.isArray(input.enum) ? input.enum : []
}

/** What resolutions are called after: the shorter side. Other sides belong to a ratio, whose resolution has another name. */
const HEIGHTS = [360, 480, 540, 720, 768, 1_080, 1_440, 2_160]

const resolutionOf = (height: number, product: Product): JsonObject | Refusal => {
  const choices = choicesOf(product, 'resolution')
  const resolution = choices.find((one) => String(one).toLowerCase() === `${height}p`)
  if (resolution !== undefined) return { resolution }
  return choices.length === 0 || !HEIGHTS.includes(height)
    ? {}
    : invalid('size', `'size' is ${height}p, and this model makes ${choices.join(', ')}.`)
}

const sizeOf = (body: JsonObject, product: Product): JsonObject | Refusal => {
  const { size } = body
  const { inputs } = product
  if (size === undefined || size === null) return {}
  if (typeof size !== 'string') return invalid('size', "'size' must be a text such as 1280x720.")
  const [, width = Number.NaN, height = Number.NaN] = (/^(\d{1,5})x(\d{1,5})$/.exec(size) ?? []).map(Number)
  const resolution = body.resolution === undefined ? resolutionOf(Math.min(width, height), product) : {}
  if (resolution instanceof Refusal) return resolution
  const ratio = ratioOf(width, height)
  if (inputs.includes('ratio') && choicesOf(product, 'ratio').includes(ratio)) return { ratio, ...resolution }
  const hasShape = ['size', 'width', 'aspect_ratio', 'image_size', 'ratio'].some((name) =>
    inputs.includes(name),
  )
  const shape = hasShape || resolution.resolution === undefined ? sizeInputs(size, inputs) : {}
  return shape instanceof Refusal ? shape : { ...shape, ...resolution }
}

const referenceOf = (body: JsonObject, product: Product): JsonObject | Refusal => {
  const [given] = REFERENCE.flatMap((name) => body[name] ?? [])
  const picture = isObject(given) ? (given.image_url ?? given.file_id) : given
  if (picture === undefined || picture === null) return {}
  const input = product.media.find(({ types }) => types.includes('image/'))
  if (input === undefined) return invalid('input_reference', TAKES_NO_IMAGES)
  return { [input.name]: input.list ? [picture] : picture }
}

/** Reads a body; its model makes films as jobs, and nobody waits for one here. */
export const decodeVideoCall = (body: JsonBody, modelNamed: ModelNamed): Call | Refusal => {
  const found = productNamed(body, modelNamed, 'video')
  if (found instanceof Refusal) return found
  const { name, product } = found
  const { prompt, seconds } = body.value
  const sized = sizeOf(body.value, product)
  if (sized instanceof Refusal) return sized
  const reference = referenceOf(body.value, product)
  if (reference instanceof Refusal) return reference
  const asked = prompt === undefined ? {} : { [nameIn(product, 'prompt')]: prompt }
  const inputs = { ...inputsOf(body.value, OWN), ...asked, ...sized, ...reference }
  const job = { prefer: { waitMs: 0, said: 'respond-async' } }
  const made = (more: JsonObject) =>
    mediaCall(name, body, { product, inputs: { ...inputs, ...more }, results: 'run', flat: true, job })
  if (seconds === undefined || seconds === null) return made({})
  // Products count seconds as numbers, or choose among texts.
  const forms = [Number(seconds), String(seconds), `${String(seconds)}s`]
  const calls = forms.map((one) => made({ [nameIn(product, 'seconds')]: one }))
  return calls.find((call) => !(call instanceof Refusal)) ?? asSent(calls[0] ?? made({}), product)
}

/** Where the product has a name of its own, the refusal uses that of this API. */
const asSent = (call: Call | Refusal, product: Product): Call | Refusal => {
  const name = nameIn(product, 'seconds')
  if (!(call instanceof Refusal) || call.members.param !== name) return call
  const message = call.message.replace(`'${name}'`, "'seconds'")
  return refuse(call.code, message, { members: { ...call.members, param: 'seconds' } })
}

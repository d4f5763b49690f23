/** The image endpoints: turn what their callers send into the inputs of a product. */
import type { Call, ResultStyle } from '../../core/call.ts'
import { isObject, type Json, type JsonBody, type JsonObject } from '../../core/json-body.ts'
import type { Product } from '../../core/model.ts'
import { invalid, Refusal } from '../../core/refusal.ts'
import { sizeInputs } from '../../media/image-size.ts'
import {
  asNamed,
  inputsOf,
  type ModelNamed,
  mediaCall,
  pictureInputOf,
  productNamed,
  TAKES_NO_IMAGES,
} from './media-calls.ts'

type Endpoint = {
  /** Members that the endpoint reads itself. */
  readonly own: readonly string[]
  readonly style: (body: JsonObject) => ResultStyle | Refusal
  /** The product inputs that the endpoint's own members stand for. */
  readonly more?: (body: JsonObject, product: Product) => JsonObject | Refusal
}

const imageCall =
  ({ own, style, more }: Endpoint) =>
  (body: JsonBody, modelNamed: ModelNamed): Call | Refusal => {
    const found = productNamed(body, modelNamed, 'image')
    if (found instanceof Refusal) return found
    const { name, product } = found
    const results = style(body.value)
    if (results instanceof Refusal) return results
    const sized = withSize(withPrompt(inputsOf(body.value, own), product), product)
    if (sized instanceof Refusal) return sized
    const counted = withCount(sized, product)
    if (counted instanceof Refusal) return counted
    const added = more?.(body.value, product) ?? {}
    if (added instanceof Refusal) return added
    const inputs = { ...counted, ...added }
    const call = mediaCall(name, body, {
      product,
      inputs,
      results,
      flat: true,
      stream: results.endsWith('_events'),
    })
    return asNamed(call, SENT)
  }

/** Products' own names for what all callers send. */
const COUNTS = ['num_images', 'num_outputs']
const SENT = { promptText: 'prompt', num_images: 'n', num_outputs: 'n' }

const withPrompt = ({ prompt, ...rest }: JsonObject, { inputs }: Product): JsonObject =>
  prompt === undefined ? rest : { [inputs.includes('promptText') ? 'promptText' : 'prompt']: prompt, ...rest }

const withSize = (inputs: JsonObject, product: Product): JsonObject | Refusal => {
  const { size, ...rest } = inputs
  if (size === undefined || size === null || size === 'auto') return rest
  if (typeof size !== 'string') return invalid('size', "'size' must be a text such as 1024x1024.")
  const named = sizeInputs(size, product.inputs)
  return named instanceof Refusal ? named : { ...rest, ...named }
}

/** Clients send `n: 1` to every model, even to those that make one image per call. */
const withCount = (inputs: JsonObject, product: Product): JsonObject | Refusal => {
  const { n, ...rest } = inputs
  if (n === undefined || product.inputs.includes('n')) return inputs
  const own = COUNTS.find((name) => product.inputs.includes(name))
  if (own !== undefined && n !== null) return { ...rest, [own]: n }
  return n === 1 || n === null
    ? rest
    : invalid('n', "'n' must be 1: this model makes one image per call. Call it again for more.")
}

/** `POST /v1/image/generate`: `{model, prompt, size?}` gives `{image_url}`; other members are the product's inputs. */
export const decodeImageCall = imageCall({ own: [], style: () => 'image_url' })

const OWN = ['response_format', 'user', 'stream', 'partial_images']

const styleFor =
  (events: ResultStyle) =>
  ({ response_format: format, stream, partial_images: partial }: JsonObject): ResultStyle | Refusal => {
    if (stream === true) return events
    if (typeof partial === 'number' && partial > 0)
      return invalid('partial_images', "'partial_images' needs a stream: send 'stream': true with it.")
    if (format === 'url') return 'images_url'
    return (format ?? 'b64_json') === 'b64_json'
      ? 'images_base64'
      : invalid('response_format', "'response_format' must be url or b64_json.")
  }

/** A product without previews sends only the finished image, which the API allows. */
const partialImages = ({ partial_images: partial }: JsonObject, { inputs }: Product): JsonObject =>
  partial !== undefined && partial !== null && inputs.includes('partial_images')
    ? { partial_images: partial }
    : {}

/** Source: OpenAI API reference, "Create image". */
export const decodeImagesCall = imageCall({
  own: OWN,
  style: styleFor('image_generation_events'),
  more: partialImages,
})

/** Fields of a form are always strings. */
const NUMBERS = ['n', 'partial_images', 'output_compression', 'width', 'height', 'seed', 'strength']

const typed = (body: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]): [string, Json | undefined] => {
      if (typeof value !== 'string') return [name, value]
      if (NUMBERS.includes(name)) return [name, value.trim() === '' ? null : Number(value)]
      return [name, name === 'stream' ? value === 'true' : value]
    }),
  )

const listOf = (value: Json | undefined): readonly Json[] => {
  if (Array.isArray(value)) return value
  return value === undefined || value === null ? [] : [value]
}

/** Images as the API names them: files of a form, addresses, or `{image_url}` and `{file_id}`. */
const picturesOf = (body: JsonObject): readonly Json[] => {
  const named = (one: Json): Json => (isObject(one) ? (one.image_url ?? one.file_id ?? one) : one)
  return [...listOf(body.image), ...listOf(body['image[]']), ...listOf(body.images)].map(named)
}

const pictureInputs = (body: JsonObject, product: Product): JsonObject | Refusal => {
  const input = pictureInputOf(product)
  const pictures = picturesOf(body)
  if (input === undefined) return invalid('model', TAKES_NO_IMAGES)
  const [first] = pictures
  if (first === undefined) return invalid('image', "'image' is required: the image to edit.")
  if (!input.list && pictures.length > 1)
    return invalid('image', "'image' must be a single image for this model.")
  return { [input.name]: input.list ? pictures : first }
}

const edits = imageCall({
  own: [...OWN, 'image', 'image[]', 'images'],
  style: styleFor('image_edit_events'),
  more: (body, product) => {
    const pictures = pictureInputs(body, product)
    return pictures instanceof Refusal ? pictures : { ...partialImages(body, product), ...pictures }
  },
})

/** Source: OpenAI API reference, "Create image edit". The body is a form, or JSON. */
export const decodeEditsCall = (body: JsonBody, modelNamed: ModelNamed): Call | Refusal =>
  edits({ ...body, value: typed(body.value) }, modelNamed)

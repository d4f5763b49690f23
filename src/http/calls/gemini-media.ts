/**
 * Images and films in the style of generate content: `generateContent` of an image model, and Vertex AI's `predict` and
 * `predictLongRunning`. Sources: Gemini API reference, "Generate content"; Vertex AI reference of Imagen and Veo; npm
 * @google/genai 3.1.0. Members that are no input of the model are refused by the model's own check.
 */
import type { Call } from '../../core/call.ts'
import { isObject, type Json, type JsonBody, type JsonObject } from '../../core/json-body.ts'
import type { Category, Product } from '../../core/model.ts'
import { invalid, Refusal, refuse } from '../../core/refusal.ts'
import { member } from '../../dialects/request/spelling.ts'
import { mediaCall, pictureInputOf, TAKES_NO_IMAGES } from './media-calls.ts'

type Target = { readonly modelName: string; readonly product: Product }

/** Names in these APIs, and the products' names for the same inputs. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  sampleCount: ['n', 'num_images', 'num_outputs'],
  candidateCount: ['n', 'num_images', 'num_outputs'],
  sampleImageSize: ['image_size'],
  durationSeconds: ['duration', 'duration_seconds', 'seconds'],
  generateAudio: ['generate_audio', 'audio', 'sound'],
}

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Members as inputs of a product. A request for one result is dropped where the product only makes one. */
const inputsOf = (members: JsonObject, { inputs }: Product): JsonObject =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, value]): [string, Json][] => {
      if (value === undefined || value === null) return []
      const names = OTHER_NAMES[name] ?? [snake(name)]
      const own = names.find((one) => inputs.includes(one)) ?? names[0] ?? name
      return own === 'n' && value === 1 && !inputs.includes('n') ? [] : [[own, value]]
    }),
  )

/** The names of an object's members, except those that are read separately. */
const others = (from: JsonObject, read: readonly string[]): readonly string[] =>
  Object.entries(from)
    .filter(([name, value]) => value !== undefined && value !== null && !read.includes(name))
    .map(([name]) => name)

const dataUrl = (mediaType: Json | undefined, data: Json | undefined): string | undefined =>
  typeof mediaType === 'string' && typeof data === 'string' ? `data:${mediaType};base64,${data}` : undefined

/** The image in a part: its bytes, or its address. */
const pictureOf = (part: JsonObject): Json | undefined => {
  const [inline, file] = [member(part, 'inlineData'), member(part, 'fileData')]
  if (isObject(inline)) return dataUrl(member(inline, 'mimeType'), member(inline, 'data'))
  return isObject(file) ? member(file, 'fileUri') : undefined
}

type Prompt = { readonly prompt: string; readonly pictures: readonly Json[] }

/** The text and images of the only user turn. */
const promptIn = (contents: Json | undefined): Prompt | Refusal => {
  const [turn, ...more] = Array.isArray(contents) ? contents : []
  const parts = isObject(turn) && Array.isArray(turn.parts) ? turn.parts : undefined
  if (parts === undefined || more.length > 0 || (isObject(turn) && (turn.role ?? 'user') !== 'user'))
    return invalid('contents', "'contents' must be a single turn of the user for a model that makes images.")
  const texts: string[] = []
  const pictures: Json[] = []
  for (const part of parts) {
    const [text, picture] = isObject(part) ? [part.text, pictureOf(part)] : []
    if (typeof text === 'string') texts.push(text)
    else if (picture !== undefined) pictures.push(picture)
    else return invalid('contents', "A part of 'contents' must be a text or an image for this model.")
  }
  return { prompt: texts.join('\n'), pictures }
}

const withPictures = (pictures: readonly Json[], product: Product): JsonObject | Refusal => {
  const input = pictureInputOf(product)
  const [first] = pictures
  if (first === undefined) return {}
  if (input === undefined) return invalid('contents', TAKES_NO_IMAGES)
  if (!input.list && pictures.length > 1) return invalid('contents', 'This model takes one image.')
  return { [input.name]: input.list ? pictures : first }
}

const notAccepted = (name: string): Refusal =>
  invalid(name, `'${name}' is not accepted by models that make images.`)

/** `generateContent` of an image model: the images are parts of the answer. */
export const decodeContentPicture = (
  body: JsonBody,
  { modelName, product }: Target,
  stream: boolean,
): Call | Refusal => {
  if (stream) return invalid('model', 'Call models that make images with generateContent, without a stream.')
  const config = member(body.value, 'generationConfig')
  const set = isObject(config) ? config : {}
  const [unknown] = [
    ...others(body.value, ['model', 'contents', 'generationConfig', 'generation_config']),
    ...others(set, [
      'responseModalities',
      'response_modalities',
      'imageConfig',
      'image_config',
      'candidateCount',
      'seed',
    ]),
  ]
  if (unknown !== undefined) return notAccepted(unknown)
  const said = promptIn(body.value.contents)
  if (said instanceof Refusal) return said
  const pictures = withPictures(said.pictures, product)
  if (pictures instanceof Refusal) return pictures
  const size = member(set, 'imageConfig')
  const settings = { ...(isObject(size) ? size : {}), candidateCount: set.candidateCount, seed: set.seed }
  const inputs = { prompt: said.prompt, ...inputsOf(settings, product), ...pictures }
  return mediaCall(modelName, body, { product, inputs, results: 'gemini_content', flat: true })
}

const instanceOf = ({ instances }: JsonObject, product: Product): JsonObject | Refusal => {
  const [instance, ...more] = Array.isArray(instances) ? instances : []
  if (!isObject(instance) || more.length > 0)
    return invalid('instances', "'instances' must be one instance with a 'prompt'.")
  const { image, ...rest } = instance
  if (!isObject(image)) return inputsOf({ ...rest, image }, product)
  const picture = dataUrl(image.mimeType, image.bytesBase64Encoded) ?? image.gcsUri
  return inputsOf({ ...rest, image: picture }, product)
}

const prediction =
  (category: Category, it: Pick<Parameters<typeof mediaCall>[2], 'results' | 'job'>) =>
  (body: JsonBody, { modelName, product }: Target): Call | Refusal => {
    if (product.category !== category)
      return refuse('model_not_found', `'${modelName}' is no ${category} model.`, {
        members: { param: 'model' },
      })
    const [unknown] = others(body.value, ['instances', 'parameters'])
    if (unknown !== undefined) return notAccepted(unknown)
    const instance = instanceOf(body.value, product)
    if (instance instanceof Refusal) return instance
    const { parameters } = body.value
    const set = isObject(parameters) ? inputsOf(parameters, product) : {}
    return mediaCall(modelName, body, { product, inputs: { ...instance, ...set }, flat: true, ...it })
  }

/** `predict` of an image model: answers with the images themselves. */
export const decodePredict = prediction('image', { results: 'gemini_predictions' })

/** `predictLongRunning` of a video model: answers with an operation to poll. */
export const decodePredictLongRunning = prediction('video', {
  results: 'gemini_operation',
  job: { prefer: { waitMs: 0, said: 'respond-async' } },
})

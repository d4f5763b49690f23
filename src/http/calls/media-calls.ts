/** The endpoints of products that are not chat: each makes a priced call from what its callers send. */
import { publicHttpsUrl } from '../../core/address.ts'
import type { Call, MediaAsk, ResultStyle, UnreadMedia } from '../../core/call.ts'
import { isFileId } from '../../core/file-id.ts'
import { isObject, type Json, type JsonBody, type JsonObject, present } from '../../core/json-body.ts'
import type { Category, MediaInput, Model, Product } from '../../core/model.ts'
import { invalid, Refusal, refuse } from '../../core/refusal.ts'
import { modelNameOf } from '../../dialects/request/request.ts'
import { decodeRunInputs } from '../../dialects/run-inputs.ts'
import { otherKind } from '../../gateway/enter/unknown-model.ts'
import { readPrefer } from '../../gateway/jobs/answer-job.ts'

/** What a caller is told who sends an image to a model that takes none. */
export const TAKES_NO_IMAGES =
  'This model takes no images; GET /v1/models lists those that do, with image_input among their capabilities.'

/** The product's input for an image to work on, whatever its name. */
export const pictureInputOf = ({ media }: Product): MediaInput | undefined =>
  media.find(({ name }) => name === 'image') ?? media.find(({ types }) => types.includes('image/'))

export type ModelNamed = (name: string) => Model | undefined

const NO_INPUT = { textBytes: 0, images: 0, audioBytes: 0 }

/** A call of a product that is not chat, priced by its inputs. */
export const mediaCall = (
  modelName: string,
  body: JsonBody,
  it: {
    readonly product: Product
    readonly inputs: Json | undefined
    readonly results: ResultStyle
    /** Refusals name inputs as members of the body. */
    readonly flat?: true
    readonly stream?: boolean
    /** What the caller of a job wants. */
    readonly job?: Pick<MediaAsk, 'prefer' | 'webhook'>
  },
): Call | Refusal => {
  const { product, inputs } = it
  const unseen = partialsUnseen(inputs, it)
  if (unseen !== undefined) return unseen
  const media = unreadMedia(inputs, product.media, it.flat === true ? '' : 'inputs.')
  const decode = (read: ReadonlyMap<string, string>) =>
    mediaCall(modelName, body, {
      ...it,
      inputs: isObject(inputs) ? withRead(inputs, product.media, read) : inputs,
    })
  const priced = media.length > 0 ? undefined : product.price(inputs)
  if (priced instanceof Refusal) return it.flat === true ? asSent(priced) : priced
  return {
    kind: 'media',
    dialect: 'chat',
    modelName,
    body,
    stream: it.stream === true,
    showUsage: false,
    choices: 1,
    size: NO_INPUT,
    media: {
      results: it.results,
      ...it.job,
      ...(priced === undefined ? { unread: { media, decode } } : { priced }),
    },
  }
}

/** Partial images cost money, and only a stream shows them. */
const partialsUnseen = (
  inputs: Json | undefined,
  { stream, flat }: { readonly stream?: boolean; readonly flat?: true },
): Refusal | undefined => {
  if (stream === true || !isObject(inputs) || !(Number(inputs.partial_images ?? 0) > 0)) return undefined
  const name = flat === true ? 'partial_images' : 'inputs.partial_images'
  const how = "'stream': true on /v1/images/generations or /v1/images/edits"
  return invalid(name, `'${name}' is shown only in a stream: ask with ${how}, or leave it out.`)
}

export const productNamed = (
  body: JsonBody,
  modelNamed: ModelNamed,
  category: Category,
): { readonly name: string; readonly product: Product } | Refusal => {
  const name = modelNameOf(body.value)
  if (name instanceof Refusal) return name
  const model = modelNamed(name)
  const product = model?.product
  if (product?.category === category) return { name, product }
  if (model !== undefined) return otherKind(model, name, category)
  return refuse(
    'model_not_found',
    `There is no ${category} model '${name}'; GET /v1/models lists those your key can use, with their category.`,
    { members: { param: 'model' } },
  )
}

/**
 * The inputs of an endpoint with fixed names: members that the endpoint itself reads are left out, the rest goes to the
 * product.
 */
export const inputsOf = ({ model: _model, ...rest }: JsonObject, own: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(rest).filter(([name]) => !own.includes(name)))

/** Refusals use the member's name at this endpoint. */
const asSent = (refusal: Refusal): Refusal => {
  const { param } = refusal.members as { param?: string }
  if (param?.startsWith('inputs.') !== true) return refusal
  const message = refusal.message.replaceAll('inputs.', '')
  return refuse(refusal.code, message, {
    members: { ...refusal.members, param: param.slice('inputs.'.length) },
  })
}

/** Source: OpenAI API reference, "Create speech". `input` is the text, `response_format` the container. */
export const decodeSpeechCall = (body: JsonBody, modelNamed: ModelNamed): Call | Refusal => {
  const found = productNamed(body, modelNamed, 'speech')
  if (found instanceof Refusal) return found
  if ((body.value.stream_format ?? 'audio') !== 'audio')
    return invalid('stream_format', "'stream_format' must be audio: speech is not sent as events here.")
  const { input, response_format: format, ...rest } = inputsOf(body.value, ['stream_format'])
  const names = found.product.inputs
  const text = names.includes('input') ? { input } : { text: input }
  const own = ['format', 'response_format'].find((name) => names.includes(name))
  // Some clients ask for MP3 in each call, and products that take no form make that.
  const isUsual = format === undefined || (own === undefined && format === 'mp3')
  const shaped = isUsual ? {} : { [own ?? 'response_format']: format }
  const inputs = Object.fromEntries(
    Object.entries({ ...rest, ...text, ...shaped }).filter(([, one]) => one !== undefined),
  )
  const call = mediaCall(found.name, body, { product: found.product, inputs, results: 'bytes', flat: true })
  return asNamed(call, { format: 'response_format', text: 'input' })
}

/** Where the product has a name of its own, the refusal uses that of the caller's dialect. */
export const asNamed = (call: Call | Refusal, names: Readonly<Record<string, string>>): Call | Refusal => {
  const { param } = (call instanceof Refusal ? call.members : {}) as { param?: string }
  const name = param === undefined ? undefined : names[param]
  if (!(call instanceof Refusal) || name === undefined) return call
  const message = call.message.replace(`'${param}'`, `'${name}'`)
  return refuse(call.code, message, { members: { ...call.members, param: name } })
}

/** Where a job's caller wants to hear of its end: a public https address. In another spelling it would be left out without a word. */
const webhookOf = (run: JsonObject, isJob: boolean): string | undefined | Refusal => {
  const stray = Object.keys(run).find((name) => name !== 'webhook' && /^web_?hook/i.test(name))
  if (stray !== undefined)
    return invalid(stray, `'${stray}' is no member of a run; 'webhook' is: {"url": "https://…"}.`)
  const value = run.webhook
  if (value === undefined || value === null) return undefined
  if (!isJob) return invalid('webhook', "'webhook' is for products that are jobs; this one answers at once.")
  const { url, ...more } = isObject(value) ? value : {}
  if (url === undefined || Object.keys(more).length > 0)
    return invalid('webhook', `'webhook' must be {"url": "https://…"}.`)
  return publicHttpsUrl('webhook.url', url)
}

/**
 * `{model, inputs, form}`: the inputs are what the model takes; for a chat or embeddings model they are the body of an
 * endpoint of its kind, which `form` names.
 */
export const decodeRun = (body: JsonBody, modelNamed: ModelNamed, headers: Headers): Call | Refusal => {
  const name = modelNameOf(body.value)
  if (name instanceof Refusal) return name
  const { inputs } = body.value
  if (!isObject(inputs))
    return invalid(
      'inputs',
      '\'inputs\' is required: an object with what the model takes, such as {"messages": […]}.',
    )
  const model = modelNamed(name)
  if (model === undefined)
    return refuse(
      'model_not_found',
      `There is no model '${name}'; GET /v1/models lists those your key can use.`,
      { members: { param: 'model' } },
    )
  const { product } = model
  const { form = null } = body.value
  if (form !== null && (typeof form !== 'string' || product !== undefined))
    return invalid(
      'form',
      "'form' is a text that names the form of a chat or embeddings model; products have one form.",
    )
  const webhook = webhookOf(body.value, product?.flow === 'job')
  if (webhook instanceof Refusal) return webhook
  if (product !== undefined) {
    const prefer = readPrefer(headers.get('prefer'))
    const job = {
      ...present({ prefer, webhook }),
    }
    return mediaCall(name, body, { product, inputs, results: 'run', job })
  }
  return decodeRunInputs(inputs, { id: name, kind: model.kind }, form ?? undefined)
}

const listOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value]

/** The media that must be read for these inputs; none for most calls. */
const unreadMedia = (
  inputs: Json | undefined,
  media: readonly MediaInput[],
  prefix: string,
): readonly UnreadMedia[] => {
  if (!isObject(inputs)) return []
  return media.flatMap(({ name, takes }) =>
    listOf(inputs[name]).flatMap((address): UnreadMedia[] =>
      typeof address === 'string' && mustBeRead(address, takes)
        ? [{ param: `${prefix}${name}`, address, takes }]
        : [],
    ),
  )
}

const mustBeRead = (address: string, takes: MediaInput['takes']): boolean =>
  isFileId(address) || (/^https:\/\//i.test(address.slice(0, 10)) && !takes(address))

/** The inputs, with each address replaced by what was read there. */
const withRead = (
  inputs: JsonObject,
  media: readonly MediaInput[],
  read: ReadonlyMap<string, string>,
): JsonObject => {
  const put = (value: Json): Json => (typeof value === 'string' ? (read.get(value) ?? value) : value)
  const changed = media.flatMap(({ name }): [string, Json][] => {
    const value = inputs[name]
    if (value === undefined) return []
    return [[name, Array.isArray(value) ? value.map(put) : put(value)]]
  })
  return { ...inputs, ...Object.fromEntries(changed) }
}

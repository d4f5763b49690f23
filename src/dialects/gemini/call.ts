/**
 * Generate content, the request: what a caller may send, and what of it the meter must know.
 * Source of the format: Gemini API reference, "models.generateContent".
 */
import type { Call, InputSize } from '../../core/call.ts'
import { isObject, type Json, type JsonBody, type JsonObject } from '../../core/json-body.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'
import { type Check, checkMembers, integerIn, isRecord, isText, listOf, numberIn } from '../field-checks.ts'
import { objectOf, oneOrMore, textOf } from '../json-members.ts'
import { type MediaSize, newMediaSize } from '../media-size.ts'
import { hasSignature, isForeign } from '../signatures.ts'

const ANY_COUNT = Number.MAX_SAFE_INTEGER

/** This dialect's JSON takes an object where a list of objects stands: it means a list of one. */
const oneOrMoreOf =
  (each: Check): Check =>
  (value, name) =>
    isObject(value) ? each(value, name) : listOf(each)(value, name)

/** Members are spelled in camel case or with underscores: the vendor's JSON takes both. */
export const member = (object: JsonObject, name: string): Json | undefined =>
  object[name] ?? object[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]

const configMembers: Readonly<Record<string, Check>> = {
  temperature: numberIn(0, 2),
  topP: numberIn(0, 1),
  topK: numberIn(0, ANY_COUNT),
  candidateCount: integerIn(1, 8),
  maxOutputTokens: integerIn(1, ANY_COUNT),
  stopSequences: (value, name) => (typeof value === 'string' ? undefined : listOf(isText)(value, name)),
}

/** Tools the caller runs, and the vendor's code execution, which is billed in tokens. */
const pricedTools = ['functionDeclarations', 'codeExecution']

const ownTool: Check = (value, name) => {
  if (!isObject(value)) return invalid(name, `'${name}' must be an object.`)
  const other = Object.keys(value).find((key) => !pricedTools.includes(camelCase(key)))
  return other === undefined
    ? undefined
    : invalid(
        `${name}.${other}`,
        `The tool '${other.slice(0, 60)}' is not sold here: the vendor runs it, and what it costs is not known beforehand.`,
      )
}

/** What the path says: the model and the method. */
type GeminiTarget = {
  readonly modelName: string
  readonly stream: boolean
  /** The stream is one JSON list. */
  readonly listed: boolean
}

/** Reads and checks a body for the model and method of the path. */
export const decodeGeminiCall = (body: JsonBody, target: GeminiTarget): Call | Refusal => {
  const value = body.value
  const config = objectOf(member(value, 'generationConfig'))
  const tools = value.tools
  const refusal =
    checkMembers(value, { systemInstruction: isRecord, toolConfig: isRecord, generationConfig: isRecord }) ??
    (tools === undefined || tools === null ? undefined : oneOrMoreOf(ownTool)(tools, 'tools')) ??
    (member(value, 'cachedContent') === undefined
      ? undefined
      : invalid('cachedContent', 'Stored contexts are not sold here; send the content with the call.')) ??
    checkTier(member(value, 'serviceTier')) ??
    checkConfig(config) ??
    checkContents(value.contents) ??
    checkSpelling(value)
  if (refusal) return refusal
  const maxOutput = member(config, 'maxOutputTokens')
  const choices = member(config, 'candidateCount')
  return {
    kind: 'chat',
    dialect: 'gemini',
    modelName: target.modelName,
    body,
    stream: target.stream,
    listed: target.listed,
    showUsage: true,
    ...(typeof maxOutput === 'number' ? { maxOutput } : {}),
    choices: typeof choices === 'number' ? choices : 1,
    size: sizeOf(body),
    foreign: partsOf(value).some(
      (part) =>
        isForeign(member(part, 'thoughtSignature')) ||
        hasSignature(objectOf(member(part, 'functionCall')).id) ||
        hasSignature(objectOf(member(part, 'functionResponse')).id),
    ),
  }
}

/** A faster tier costs more than the price list says. */
const checkTier = (tier: Json | undefined): Refusal | undefined =>
  tier === undefined || tier === null || /^(?:standard|flex)$/i.test(textOf(tier) ?? '')
    ? undefined
    : invalid('serviceTier', "'serviceTier' must be one of 'standard', 'flex'.")

/** A member in both of its spellings would be read as one here and perhaps as the other there. */
const checkSpelling = (value: JsonObject): Refusal | undefined => {
  const system = objectOf(member(value, 'systemInstruction'))
  const config = objectOf(member(value, 'generationConfig'))
  const parts = [...partsOf(value), ...oneOrMore(system.parts)].flatMap((part) => [
    part,
    ...oneOrMore(objectOf(member(part, 'functionResponse')).parts),
  ])
  const media = parts.flatMap((part) => [
    objectOf(member(part, 'inlineData')),
    objectOf(member(part, 'fileData')),
  ])
  const twice = [value, config, ...oneOrMore(value.tools), ...parts, ...media].map(spelledTwice)
  const name = twice.find((one) => one !== undefined)
  return name === undefined
    ? undefined
    : invalid(name, `'${name}' is there in both of its spellings; send one.`)
}

const spelledTwice = (object: JsonObject): string | undefined =>
  Object.keys(object).find((name) => /_[a-z]/.test(name) && Object.hasOwn(object, camelCase(name)))

export const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const checkConfig = (config: JsonObject): Refusal | undefined => {
  for (const name in configMembers) {
    const value = member(config, name)
    if (value === undefined || value === null) continue
    const refusal = configMembers[name]?.(value, `generationConfig.${name}`)
    if (refusal) return refusal
  }
  return undefined
}

const checkContents = (contents: Json | undefined): Refusal | undefined => {
  const all = isObject(contents) ? [contents] : contents
  if (!Array.isArray(all)) return invalid('contents', "'contents' is required: a list of contents.")
  if (all.length === 0) return invalid('contents', "'contents' must hold at least one content.")
  for (const [index, content] of all.entries()) {
    const at = `contents[${index}]`
    if (!isObject(content)) return invalid(at, `'${at}' must be an object with 'role' and 'parts'.`)
    const { role, parts } = content
    if (
      role !== undefined &&
      role !== null &&
      !['user', 'model', 'function', 'system'].includes(textOf(role) ?? '')
    )
      return invalid(`${at}.role`, `'${at}.role' must be 'user' or 'model'.`)
    const refusal = oneOrMoreOf(isRecord)(parts ?? [], `${at}.parts`)
    if (refusal) return refusal
  }
  return undefined
}

const partsOf = (value: JsonObject): readonly JsonObject[] =>
  oneOrMore(value.contents).flatMap((content) => oneOrMore(content.parts))

/** Text that the vendor puts around tools, in tokens at most. */
const TOOLS_TEMPLATE = 1_000
const sizeOf = (body: JsonBody): InputSize => {
  const media = newMediaSize()
  const system = oneOrMore(objectOf(member(body.value, 'systemInstruction')).parts)
  for (const part of [...partsOf(body.value), ...system]) countPart(part, media)
  const tools = oneOrMore(body.value.tools)
  // What the vendor's own code prints is read again, as input.
  if (tools.some((tool) => member(tool, 'codeExecution') !== undefined)) media.unknown()
  return media.of(body, tools.length > 0 ? TOOLS_TEMPLATE : 0)
}

const countPart = (part: JsonObject, media: MediaSize): void => {
  const inline = member(part, 'inlineData')
  const file = member(part, 'fileData')
  if (isObject(inline))
    media.inline(textOf(member(inline, 'mimeType')) ?? '', (textOf(inline.data) ?? '').length)
  if (isObject(file))
    media.address(
      textOf(member(file, 'fileUri')) ?? '',
      /^image\//i.test(textOf(member(file, 'mimeType')) ?? ''),
    )
  for (const inner of oneOrMore(objectOf(member(part, 'functionResponse')).parts)) countPart(inner, media)
}

/**
 * Generate content, the request: what a caller may send, what the meter needs from it, and what is ignored for vendors
 * of other dialects. Source of the format: Gemini API reference, "models.generateContent".
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { callId, signature } from '../request/foreign.ts'
import { objectOf, textOf } from '../request/json-members.ts'
import { ignored, needed, object, request } from '../request/request.ts'
import {
  any,
  integer,
  list,
  meant,
  number,
  objects,
  oneOrMore,
  type Shape,
  such,
  text,
  textOr,
  tokenBound,
  Wrong,
  word,
} from '../request/shape.ts'
import { camelCase, member } from '../request/spelling.ts'

/** The most tokens that the vendor adds around tools. */
export const TOOLS_TEMPLATE = 1_000

/** Tools that the caller runs, and of the vendor's code execution, which is billed in tokens, and search. */
const pricedTools = ['functionDeclarations', 'codeExecution', 'googleSearch']

const notOffered = (value: JsonObject): Wrong | undefined => {
  const other = Object.keys(value).find((key) => !pricedTools.includes(camelCase(key)))
  return other === undefined
    ? undefined
    : new Wrong(
        () =>
          `The tool '${other.slice(0, 60)}' is not sold here: the vendor runs it, and what it costs is not known beforehand.`,
        `.${other}`,
      )
}

const declaration = object(
  {
    name: meant('string'),
    description: meant('string'),
    parameters: meant('object'),
    parametersJsonSchema: meant('object'),
  },
  { loose: true, spelled: true, place: 'tools.' },
)

/** The output of the vendor's code execution is read again, as input. */
const codeExecution: Shape<Json> = {
  check: (_value, found) => {
    found.unknown()
    return undefined
  },
  schema: { type: 'object' },
}

/** No request bounds how many queries an answer makes; few make more than this. */
export const QUERIES_HELD = 40

/**
 * The vendor bills each query; what it finds is not billed as input. Pictures have another price.
 * Source: Gemini API documentation, "Grounding with Google Search" and "Pricing".
 */
const googleSearch: Shape<Json> = {
  check: (value, found) => {
    if (member(objectOf(member(objectOf(value), 'searchTypes')), 'imageSearch') !== undefined)
      return new Wrong((name) => `'${name}' is sold for the web alone: leave 'imageSearch' out.`)
    found.hosted(0, QUERIES_HELD)
    return undefined
  },
  schema: { type: 'object' },
}

const tool = object(
  {
    functionDeclarations: oneOrMore(declaration, objects(declaration)),
    codeExecution: ignored(codeExecution),
    googleSearch: ignored(googleSearch),
  },
  {
    spelled: true,
    place: 'tools ',
    rule: notOffered,
    seen: (_tool, found) => {
      found.template = TOOLS_TEMPLATE
    },
  },
)

const inlineData = object(
  { mimeType: meant('string'), data: meant('string') },
  {
    loose: true,
    spelled: true,
    place: 'inlineData.',
    seen: (it, found) => found.inline(textOf(member(it, 'mimeType')) ?? '', (textOf(it.data) ?? '').length),
  },
)
const fileData = object(
  { mimeType: meant('string'), fileUri: meant('string') },
  {
    loose: true,
    spelled: true,
    place: 'fileData.',
    seen: (it, found) =>
      found.address(
        textOf(member(it, 'fileUri')) ?? '',
        /^image\//i.test(textOf(member(it, 'mimeType')) ?? ''),
      ),
  },
)

/** The result of a tool may contain media, in parts of its own. */
const given: Shape<Json> = { check: (value, found) => result.check?.(value, found) }
const resultPart = object({ inlineData, fileData, functionResponse: given }, { loose: true, spelled: true })
const result = object({ parts: oneOrMore(resultPart, objects(resultPart)) }, { loose: true })

const parts = {
  text: meant('string'),
  inlineData,
  fileData,
  functionCall: object(
    { id: callId, name: meant('string'), args: meant('object') },
    { loose: true, spelled: true, place: 'functionCall.' },
  ),
  functionResponse: object(
    {
      id: callId,
      name: meant('string'),
      response: meant('object'),
      parts: oneOrMore(resultPart, objects(resultPart)),
    },
    { loose: true, spelled: true, place: 'functionResponse.' },
  ),
  thought: meant('boolean'),
  thoughtSignature: signature,
  executableCode: meant('object'),
  codeExecutionResult: meant('object'),
}
const part = object(parts, { spelled: true, place: 'parts.' })
const systemPart = object(parts, { loose: true, spelled: true, place: 'parts.' })

const content = object(
  {
    role: word(['user', 'model', 'function', 'system'], (name) => `'${name}' must be 'user' or 'model'.`),
    parts: oneOrMore(part, list(part)),
  },
  {
    say: (name) => `'${name}' must be an object with 'role' and 'parts'.`,
    spelled: true,
    place: 'contents.',
  },
)

const config = object(
  {
    temperature: number(0, 2),
    topP: number(0, 1),
    topK: number(0, Number.MAX_SAFE_INTEGER),
    candidateCount: integer(1, 8),
    maxOutputTokens: tokenBound,
    stopSequences: textOr(list(text)),
    seed: meant('integer'),
    presencePenalty: meant('number'),
    frequencyPenalty: meant('number'),
    responseLogprobs: meant('boolean'),
    logprobs: meant('integer'),
    responseMimeType: meant('string'),
    responseSchema: meant('object'),
    responseJsonSchema: any,
    thinkingConfig: object(
      {
        includeThoughts: meant('boolean'),
        thinkingBudget: meant('integer'),
        thinkingLevel: meant('string'),
      },
      { loose: true, spelled: true, place: 'thinkingConfig.' },
    ),
    responseModalities: meant('array'),
  },
  { loose: true, spelled: true, place: '' },
)

const calling = object(
  { mode: meant('string'), allowedFunctionNames: meant('array') },
  { loose: true, spelled: true, place: 'functionCallingConfig.' },
)

const CONTENTS = () => "'contents' is required: a list of contents."
const contents = list(content, {
  say: CONTENTS,
  empty: () => "'contents' must hold at least one content.",
})

/** Objects that are read in this spelling only. */
const records = ['systemInstruction', 'toolConfig', 'generationConfig']

export const geminiRequest = request(
  {
    model: meant('string'),
    systemInstruction: object(
      { parts: oneOrMore(systemPart, objects(systemPart)) },
      { loose: true, place: 'systemInstruction.', placeOf: () => false },
    ),
    tools: oneOrMore(tool, list(tool)),
    cachedContent: ignored<Shape<Json>>({
      check: () => new Wrong(() => 'Stored contexts are not sold here; send the content with the call.'),
    }),
    // A faster tier costs more than the list price; a cheaper one chooses the discounted model.
    serviceTier: such<string>(
      (value) => /^(?:standard|flex)$/i.test(textOf(value) ?? ''),
      (name) => `'${name}' must be one of 'standard', 'flex'.`,
      { type: 'string' },
    ),
    generationConfig: config,
    toolConfig: object(
      { functionCallingConfig: calling },
      { loose: true, spelled: true, place: 'toolConfig.' },
    ),
    contents: needed(oneOrMore(content, contents, '[0]'), CONTENTS),
  },
  {
    spelled: true,
    rule: (value) => {
      const other = records.find((name) => (value[name] ?? null) !== null && !isObject(value[name]))
      return other === undefined
        ? undefined
        : new Wrong((name) => `'${name}' must be an object.`).under(other)
    },
  },
)

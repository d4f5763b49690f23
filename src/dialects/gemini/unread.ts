/** Generate content, members of a request that no other dialect is told. Source: Gemini API reference, "models.generateContent". */
import type { Json, JsonObject } from '../../core/json-body.ts'
import { objectOf, oneOrMore } from '../json-members.ts'
import { known, unreadIn } from '../unread.ts'
import { camelCase, member } from './call.ts'

const top = known('contents systemInstruction tools toolConfig generationConfig model')
const config = known(
  'temperature topP topK candidateCount maxOutputTokens stopSequences seed presencePenalty frequencyPenalty ' +
    'responseLogprobs logprobs responseMimeType responseSchema responseJsonSchema thinkingConfig responseModalities',
)
const thinking = known('includeThoughts thinkingBudget thinkingLevel')
const toolConfig = known('functionCallingConfig')
const calling = known('mode allowedFunctionNames')
const tools = known('functionDeclarations')
const declaration = known('name description parameters parametersJsonSchema')
const content = known('role parts')
const part = known(
  'text inlineData fileData functionCall functionResponse thought thoughtSignature executableCode codeExecutionResult',
)
const call = known('id name args')
const response = known('id name response parts')
const inline = known('mimeType data')
const file = known('mimeType fileUri')

/** The object with its members in camel case. */
const spelled = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [camelCase(name), value]))

const inside = (objects: readonly JsonObject[], name: string): readonly JsonObject[] =>
  objects
    .flatMap((object): readonly Json[] => [member(object, name) ?? {}].flat())
    .map(objectOf)
    .map(spelled)

/** Media of an answer, signed or thought: other dialects have no place for that. */
const isSignedMedia = ({ inlineData, fileData, thought, thoughtSignature }: JsonObject): boolean =>
  (inlineData !== undefined || fileData !== undefined) && (thought === true || thoughtSignature !== undefined)

/** Names of the members that are not read. */
export const unreadInGemini = (body: JsonObject): readonly string[] => {
  const settings = inside([body], 'generationConfig')
  const ways = inside([body], 'toolConfig')
  const contents = oneOrMore(body.contents).map(spelled)
  const parts = inside([...contents, ...inside([body], 'systemInstruction')], 'parts')
  const toolObjects = inside([body], 'tools')
  const responseLogprobs = objectOf(settings[0]).responseLogprobs
  return [
    ...unreadIn([spelled(body)], top),
    ...unreadIn(settings, config),
    ...unreadIn(inside(settings, 'thinkingConfig'), thinking, 'thinkingConfig.'),
    ...unreadIn(ways, toolConfig, 'toolConfig.'),
    ...unreadIn(inside(ways, 'functionCallingConfig'), calling, 'functionCallingConfig.'),
    ...unreadIn(toolObjects, tools, 'tools '),
    ...unreadIn(inside(toolObjects, 'functionDeclarations'), declaration, 'tools.'),
    ...unreadIn(contents, content, 'contents.'),
    ...unreadIn(parts, part, 'parts.'),
    ...unreadIn(inside(parts, 'functionCall'), call, 'functionCall.'),
    ...unreadIn(inside(parts, 'functionResponse'), response, 'functionResponse.'),
    ...unreadIn(inside(parts, 'inlineData'), inline, 'inlineData.'),
    ...unreadIn(inside(parts, 'fileData'), file, 'fileData.'),
    ...(parts.some(isSignedMedia) ? ['thinking'] : []),
    ...(responseLogprobs !== true && objectOf(settings[0]).logprobs !== undefined ? ['logprobs'] : []),
  ]
}

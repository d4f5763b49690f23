/**
 * The inputs of a run of a chat or embeddings model, in the form that the caller states: by `form`, or by the member that
 * holds the prompt. The answer has that form. What the form does not know is refused, never dropped.
 */
import type { Call } from '../core/call.ts'
import { bodyOf, type JsonObject } from '../core/json-body.ts'
import type { ModelKind } from '../core/model.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import { decodeChatCall } from './chat/call.ts'
import { chatRequest } from './chat/request.ts'
import { decodeGeminiCall } from './gemini/call.ts'
import { decodeEmbedContent } from './gemini/embeddings.ts'
import { geminiRequest } from './gemini/request.ts'
import { decodeMessagesCall } from './messages/call.ts'
import { messagesRequest } from './messages/request.ts'
import { decodeEmbeddingsCall } from './request/embeddings.ts'
import { camelCase } from './request/spelling.ts'

/** The forms that a run may state, by kind of model; the first is what `messages` or `input` alone means. */
export const runForms = {
  chat: ['chat_completions', 'messages', 'generate_content'],
  embeddings: ['embeddings', 'generate_content'],
} as const

type Style = {
  readonly name: string
  readonly names: readonly string[]
  readonly decode: (inputs: JsonObject, modelName: string) => Call | Refusal
}

const chat: Style = {
  name: 'chat completions',
  names: chatRequest.names,
  decode: (inputs, model) => decodeChatCall(bodyOf({ ...inputs, model })),
}
const messages: Style = {
  name: 'messages',
  names: messagesRequest.names,
  decode: (inputs, model) => decodeMessagesCall(bodyOf({ ...inputs, model })),
}
/** In this form `stream` is part of the address and not a member, but a run has only one address. */
const gemini: Style = {
  name: 'generate-content',
  names: [...geminiRequest.names, 'stream'],
  decode: ({ stream, ...inputs }, modelName) =>
    decodeGeminiCall(bodyOf(inputs), { modelName, stream: stream === true, listed: false }),
}

const chatStyles: Readonly<Record<(typeof runForms.chat)[number], Style>> = {
  chat_completions: chat,
  messages,
  generate_content: gemini,
}

/** The members with the prompt that only generate-content has; batches of embeddings have `requests`. */
const PROMPTS = ['contents', 'content', 'requests'] as const

/**
 * Reads the inputs of a run as a call of the model. `form` is the member of the request; without it `contents` (of
 * embeddings `content` or `requests`) states generate-content, and everything else the form of the OpenAI style.
 */
export const decodeRunInputs = (
  inputs: JsonObject,
  model: { readonly id: string; readonly kind: ModelKind },
  form?: string,
): Call | Refusal => {
  const [usual, google] = [model.kind === 'chat' ? 'chat_completions' : 'embeddings', 'generate_content']
  const stated = form ?? (PROMPTS.some((name) => inputs[name] !== undefined) ? google : usual)
  if (model.kind === 'chat') {
    const found = runForms.chat.find((one) => one === stated)
    return found === undefined ? notAForm(runForms.chat) : decodeChat(inputs, model.id, chatStyles[found])
  }
  if (stated === usual) return decodeEmbeddingsCall(bodyOf({ ...inputs, model: model.id }))
  if (stated !== google) return notAForm(runForms.embeddings)
  const method = inputs.requests === undefined ? 'embedContent' : 'batchEmbedContents'
  return decodeEmbedContent(bodyOf(inputs), { modelName: model.id, method })
}

const notAForm = (forms: readonly string[]): Refusal =>
  invalid(
    'form',
    `'form' must be one of ${forms.join(', ')} for this model; the answer has the form of the inputs.`,
  )

/** Members that say something about the call but nothing about the form of its answer. */
const ASIDE: ReadonlySet<string> = new Set(['metadata', 'safety_identifier', 'prompt_cache_key', 'labels'])

/**
 * Members of another form are refused here. Members that no form knows are kept in `unknown`: a vendor that speaks this
 * form gets them unchanged; for any other vendor the call is refused.
 */
const decodeChat = (inputs: JsonObject, modelName: string, style: Style): Call | Refusal => {
  const isKnown = ({ names, name }: Style, member: string) =>
    names.includes(name === gemini.name ? camelCase(member) : member)
  const unknown = Object.keys(inputs).filter(
    (name) => inputs[name] !== undefined && !ASIDE.has(name) && !isKnown(style, name),
  )
  for (const name of unknown)
    for (const [form, other] of Object.entries(chatStyles))
      if (isKnown(other, name)) return notOf(style, name, form)
  const call = style.decode(inputs, modelName)
  return call instanceof Refusal || unknown.length === 0 ? call : { ...call, unknown }
}

const notOf = (style: Style, name: string, form: string): Refusal =>
  invalid(
    `inputs.${name}`,
    `'inputs.${name}' is not a member of ${style.name}, the form of these inputs; use that form's own member, or state "form": "${form}" beside 'inputs', which the answer then has too.`,
  )

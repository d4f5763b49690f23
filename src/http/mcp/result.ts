/** Results of tools, in the protocol's form. */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'

export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource_link'
      readonly uri: string
      readonly name: string
      readonly mimeType: string
      readonly size?: number
    }

export type ToolResult = {
  readonly content: Content[]
  readonly structuredContent?: Record<string, unknown>
  readonly isError?: boolean
  readonly _meta?: Record<string, unknown>
  readonly [other: string]: unknown
}

/** The part of a request's parameters that we use. */
export type Params = {
  readonly name: string
  readonly arguments?: Record<string, unknown> | undefined
  readonly _meta?: Record<string, unknown> | undefined
}

/** The part of the library's request context that we use. */
export type CallRequest = {
  readonly signal: AbortSignal
  readonly envelope?: unknown
  readonly _meta?: { readonly progressToken?: string | number | undefined } | undefined
  readonly notify: (notification: {
    method: 'notifications/progress'
    params: { progressToken: string | number; progress: number; total: number; message?: string }
  }) => Promise<void>
}

const linkOf = (one: JsonObject, at: number): Content => ({
  type: 'resource_link',
  uri: String(one.url),
  name: `${String(one.type)} ${at + 1}`,
  mimeType: String(one.media_type),
  ...(typeof one.bytes === 'number' ? { size: one.bytes } : {}),
})

/** The part of an answer that a model should read: its text, and links to its files; if there are none, all of it. */
export const contentOf = (body: JsonObject): Content[] => {
  if (Array.isArray(body.outputs)) {
    const outputs = body.outputs.filter(isObject)
    const texts = outputs.flatMap((one): Content[] =>
      one.type === 'text' && typeof one.text === 'string'
        ? [{ type: 'text', text: one.text }]
        : one.type === 'json'
          ? [{ type: 'text', text: JSON.stringify(one.value) }]
          : [],
    )
    const links = outputs.filter(({ url }) => typeof url === 'string').map(linkOf)
    if (texts.length + links.length > 0) return [...texts, ...links]
  }
  const said = firstMessage(body.choices)
  return [{ type: 'text', text: typeof said === 'string' ? said : JSON.stringify(body) }]
}

const firstMessage = (choices: Json | undefined): Json | undefined => {
  const [first] = Array.isArray(choices) ? choices : []
  const message = isObject(first) ? first.message : undefined
  return isObject(message) && message.tool_calls === undefined ? message.content : undefined
}

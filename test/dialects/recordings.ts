/** Recordings of vendors' answers from a folder outside the repository, and a simple reader of them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Usage } from '../../src/core/usage.ts'
import type { Finish } from '../../src/dialects/neutral.ts'

/** The content of an answer's first choice. */
export type Choice = {
  readonly text: string
  readonly thinking: string
  readonly tools: readonly (readonly [name: string, args: object])[]
  readonly finish: Finish | undefined
  readonly usage: Usage | undefined
}

const dialects = { openai: 'chat', anthropic: 'messages', gemini: 'gemini' } as const
const endpoints = /\/chat\/completions$|\/v1\/messages$|:generateContent$|:streamGenerateContent$/

/** Answers with status 200 of endpoints that answer a conversation; `index.json` of the folder names them. */
export const recordingsIn = (folder: string) => {
  const index: { fixtures: any[] } = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'))
  return (
    index.fixtures
      .filter((one) => one.status === 200 && one.recorded && endpoints.test(one.endpoint))
      .filter((one) => one.stream || !/stream/i.test(one.endpoint))
      // What a simple reader does not read: code that the vendor ran, and streams that break off.
      .filter((one) => !/code-execution|error/.test(one.feature + one.id))
      .map((one) => ({
        id: String(one.id),
        vendor: String(one.vendor),
        dialect: dialects[one.dialect as keyof typeof dialects],
        stream: one.stream === true,
        bytes: new Uint8Array(readFileSync(join(folder, one.file))),
      }))
  )
}

/** The text, the names of the tools and the tokens of the input, in the order of the values. */
export const simply = (dialect: 'chat' | 'messages' | 'gemini', values: readonly any[]) => {
  const pick = { chat: chatText, messages: messagesText, gemini: geminiText }[dialect]
  const usages = values.flatMap((value) => {
    const usage = value.usage ?? value.message?.usage ?? value.usageMetadata
    return usage === undefined || usage === null ? [] : [usage]
  })
  return {
    text: values.map((value) => pick(value).text).join(''),
    names: values.flatMap((value) => pick(value).names),
    input: usages.map(inputIn).findLast((tokens) => tokens !== undefined),
  }
}

const inputIn = (usage: any): number | undefined =>
  usage.prompt_tokens ??
  (usage.input_tokens === undefined
    ? usage.promptTokenCount === undefined
      ? undefined
      : usage.promptTokenCount + (usage.toolUsePromptTokenCount ?? 0)
    : usage.input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0))

type Picked = { readonly text: string; readonly names: readonly string[] }

const chatText = (value: any): Picked => {
  const choice = (value.choices ?? []).find((one: any) => (one.index ?? 0) === 0)
  const said = choice?.delta ?? choice?.message ?? {}
  const content = Array.isArray(said.content)
    ? said.content.map((part: any) => (part.type === 'text' ? part.text : '')).join('')
    : (said.content ?? '')
  const calls = [...(said.tool_calls ?? []).map((call: any) => call.function?.name), said.function_call?.name]
  return { text: content, names: calls.filter((name) => typeof name === 'string' && name !== '') }
}

const messagesText = (value: any): Picked => {
  const blocks = [
    ...(value.content ?? []),
    ...(value.content_block === undefined ? [] : [value.content_block]),
  ]
  return {
    text: blocks.map((block: any) => block.text ?? '').join('') + (value.delta?.text ?? ''),
    names: blocks.filter((block: any) => block.type === 'tool_use').map((block: any) => block.name),
  }
}

const geminiText = (value: any): Picked => {
  const parts = (value.candidates ?? []).find((one: any) => (one.index ?? 0) === 0)?.content?.parts ?? []
  return {
    text: parts.map((part: any) => (part.thought === true ? '' : (part.text ?? ''))).join(''),
    names: parts.flatMap((part: any) => part.functionCall?.name ?? []),
  }
}

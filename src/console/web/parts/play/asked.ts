/** What the playground asks: its settings, the conversation so far, and the body of the next call of each model. */
import type { ChatBody } from './programs.ts'
import type { Answer } from './stream-chat.ts'

/** As they are typed. */
export type Settings = {
  readonly system: string
  readonly temperature: string
  readonly top_p: string
  readonly max_tokens: string
  readonly tools: string
}

export const noSettings: Settings = { system: '', temperature: '', top_p: '', max_tokens: '', tools: '' }

/** A file that goes with a message, as a data URL. */
export type Attached = { readonly name: string; readonly url: string }

/** A message of the person, and what each model answered, by its id. */
export type Round = {
  readonly id: number
  readonly text: string
  readonly files: readonly Attached[]
  /** Which models were asked. */
  readonly models: readonly string[]
  readonly answers: Readonly<Record<string, Answer>>
}

type Json = ChatBody[string]

/** What is wrong with what was typed, by its field. */
export const troubles = (settings: Settings): Partial<Record<keyof Settings, string>> => {
  const number = (name: 'temperature' | 'top_p' | 'max_tokens', test: RegExp, what: string) =>
    settings[name].trim() === '' || test.test(settings[name].trim()) ? {} : { [name]: what }
  return {
    ...number('temperature', /^\d(\.\d+)?$/, 'A number such as 0.7'),
    ...number('top_p', /^(0(\.\d+)?|1(\.0+)?)$/, 'From 0 to 1'),
    ...number('max_tokens', /^[1-9]\d{0,6}$/, 'A whole number such as 500'),
    ...(toolsIn(settings.tools) === null ? { tools: 'A JSON list of tools' } : {}),
  }
}

/** The tools; undefined for none, null if they cannot be read. */
const toolsIn = (text: string): readonly Json[] | undefined | null => {
  if (text.trim() === '') return undefined
  try {
    const read: unknown = JSON.parse(text)
    return Array.isArray(read) ? read : null
  } catch {
    return null
  }
}

const contentOf = ({ text, files }: Pick<Round, 'text' | 'files'>): Json =>
  files.length === 0
    ? text
    : [
        ...(text === '' ? [] : [{ type: 'text', text }]),
        ...files.map(({ name, url }) =>
          url.startsWith('data:image/')
            ? { type: 'image_url', image_url: { url } }
            : { type: 'file', file: { filename: name, file_data: url } },
        ),
      ]

const answered = ({ text, calls }: Answer): Json => ({
  role: 'assistant',
  content: text === '' && calls.length > 0 ? null : text,
  ...(calls.length === 0
    ? {}
    : {
        tool_calls: calls.map(({ id, name, arguments: given }) => ({
          id,
          type: 'function',
          function: { name, arguments: given },
        })),
      }),
})

/** What a model answered; to a question from before it was chosen, what one of those did that were asked. */
const answerOf = (model: string, { models, answers }: Round): Answer | undefined => {
  const whose = models.includes(model) ? model : models.find((one) => answers[one]?.error === undefined)
  return whose === undefined ? undefined : answers[whose]
}

/** The messages for a model: where its last answer called tools, the next message is their result. */
const messagesFor = (model: string, rounds: readonly Round[]): readonly Json[] =>
  rounds.flatMap((round, at): readonly Json[] => {
    const last = rounds[at - 1]
    const before = last === undefined ? undefined : answerOf(model, last)
    // The calls of an answer that failed are not told to the model, so nothing can be their result.
    const calls = before?.error === undefined ? (before?.calls ?? []) : []
    const asked: readonly Json[] =
      calls.length === 0
        ? [{ role: 'user', content: contentOf(round) }]
        : calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: round.text }))
    const answer = answerOf(model, round)
    // What failed is not told to the model as its own words.
    return answer === undefined || answer.error !== undefined ? asked : [...asked, answered(answer)]
  })

const numbers = ['temperature', 'top_p', 'max_tokens'] as const

/** The body of the next call of a model; its settings must be right. */
export const bodyFor = (model: string, settings: Settings, rounds: readonly Round[]): ChatBody => {
  const { system, tools } = settings
  const read = toolsIn(tools)
  return {
    model,
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
      ...messagesFor(model, rounds),
    ],
    ...Object.fromEntries(
      numbers.flatMap((name) => (settings[name].trim() === '' ? [] : [[name, Number(settings[name])]])),
    ),
    ...(read == null ? {} : { tools: read }),
  }
}

/** Requests of a caller's dialect, as they are written for a vendor of another. */
import type { Call } from '../../src/core/call.ts'
import { bodyOf } from '../../src/core/json-body.ts'
import type { Model } from '../../src/core/model.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { Speaker } from '../../src/dialects/dialect.ts'
import { type Form, formFor } from '../../src/dialects/form.ts'
import { testModel } from '../server/harness.ts'
import type { CallerId } from './clients.ts'
import { context, type WrittenId } from './steps.ts'

const names = {
  chat: 'm',
  messages: 'claude-sonnet-4-5',
  gemini: 'gemini-2.5-pro',
  converse: 'anthropic.claude-sonnet-4-5-v1:0',
  responses: 'gpt-5.6',
} as const

type Change = {
  readonly model?: Partial<Model>
  readonly speaker?: Partial<Speaker>
  readonly stream?: boolean
}

/** The form of a request, or why it is refused. */
export const formOf = (
  caller: CallerId,
  vendor: WrittenId,
  request: object,
  change: Change = {},
): Form | Refusal => {
  const body = bodyOf(JSON.parse(JSON.stringify(request)))
  const stream = change.stream === true
  const call: Call = {
    kind: 'chat',
    dialect: caller,
    modelName: 'a/b',
    body,
    stream,
    showUsage: true,
    choices: 1,
    size: { textBytes: 1, images: 0, audioBytes: 0 },
  }
  const speaker: Speaker = {
    outputBound: 'max_tokens',
    takesStreamOptions: true,
    ...(vendor === 'chat' ? {} : { speaks: vendor }),
    ...change.speaker,
  }
  const model = testModel('m', { upstreamName: names[vendor], capabilities: ['reasoning'], ...change.model })
  const target = { model, taste: speaker, outputBound: undefined, stream }
  return formFor({ call, target, speaker, context: context(request) })
}

/** What the vendor is sent. */
export const bodyFor = (...asked: Parameters<typeof formOf>): any => {
  const form = formOf(...asked)
  if (form instanceof Refusal) throw new Error(form.message)
  return JSON.parse(new TextDecoder().decode(form.body))
}

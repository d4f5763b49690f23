/** Requests of a caller's dialect, written for a vendor of another. */
import type { Call } from '../../src/core/call.ts'
import { bodyOf } from '../../src/core/json-body.ts'
import type { Model } from '../../src/core/model.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { codecFor } from '../../src/dialects/call-codec.ts'
import type { CallCodec } from '../../src/dialects/codec.ts'
import type { VendorTraits } from '../../src/dialects/dialect.ts'
import { testModel } from '../server/harness.ts'
import type { CallerId } from './clients.ts'
import { context, type WrittenId } from './steps.ts'

const names = {
  chat: 'm',
  messages: 'claude-sonnet-4-5',
  gemini: 'gemini-2.5-pro',
  converse: 'anthropic.claude-sonnet-4-5-v1:0',
  responses: 'gpt-5.6',
  interactions: 'gemini-3.8-flash',
} as const

type Change = {
  readonly model?: Partial<Model>
  readonly traits?: Partial<VendorTraits>
  readonly stream?: boolean
}

/** The form of a request, or the refusal. */
export const codecOf = (
  caller: CallerId,
  vendor: WrittenId,
  request: object,
  change: Change = {},
): CallCodec | Refusal => {
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
  const traits: VendorTraits = {
    outputBound: 'max_tokens',
    takesStreamOptions: true,
    ...(vendor === 'chat' ? {} : { speaks: vendor }),
    ...change.traits,
  }
  const model = testModel('m', { upstreamName: names[vendor], capabilities: ['reasoning'], ...change.model })
  const target = { model, quirks: traits, outputBound: undefined, stream }
  return codecFor({ call, target, traits, context: () => context(request) })
}

/** The body that goes to the vendor. */
export const bodyFor = (...args: Parameters<typeof codecOf>): any => {
  const codec = codecOf(...args)
  if (codec instanceof Refusal) throw new Error(codec.message)
  return JSON.parse(new TextDecoder().decode(codec.body))
}

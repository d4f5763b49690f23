/**
 * The codec of one call to one vendor: what to send where, and how to read the reply. If both sides speak one dialect,
 * bytes pass through. If not, everything goes through the neutral form.
 */

import { exactValue } from '../core/exact-json.ts'
import { bodyOf, type JsonObject } from '../core/json-body.ts'
import { Refusal } from '../core/refusal.ts'
import { usageFinder } from '../metering/find-usage.ts'
import { readUsage } from '../metering/read-usage.ts'
import { withAllowedTools } from './allowed-tools.ts'
import type { Billed } from './bill-members.ts'
import { addChatBill } from './chat/pass-reply.ts'
import { type CallCodec, callerOf, readBody, type Sides, servedTier } from './codec.ts'
import type { VendorDialect } from './dialect.ts'
import { encodeEmbeddingsCall } from './embeddings.ts'
import { embeddingsElsewhere } from './embeddings-elsewhere.ts'
import { vendorDialects } from './index.ts'
import { betaHeader, betasFor } from './messages/betas.ts'
import type { Conversation, Piece, Reply } from './neutral.ts'
import { oneCallSteps, withOneCall } from './one-call.ts'
import { PassingCodec } from './passing-codec.ts'
import { prefillOf, withoutPrefill, withoutPrefillSteps } from './prefill.ts'
import { textFromTool, textFromToolSteps, withSchemaTool } from './schema-by-tool.ts'
import { watchingTier } from './served-tier.ts'
import { withShortNames } from './short-names.ts'
import type { WriterContext } from './stream-writer.ts'
import { readableCalls } from './tool-arguments.ts'
import { toolsInOrder } from './tools-in-order.ts'
import { translatedRelay } from './translate-stream.ts'
import { unsupportedIn } from './unsupported.ts'
import { upstreamDialect } from './upstream-dialect.ts'
import { refuseUnsupported } from './vendor-call.ts'

/** The codec of a call to a vendor; a Refusal when the vendor's dialect cannot express the call. */
export const codecFor = (sides: Sides): CallCodec | Refusal => {
  const { call, traits } = sides
  if (call.kind === 'embeddings') return embeddingsCodec(sides)
  const vendor = vendorDialects[upstreamDialect(call, sides.target.model, traits)]
  return call.betas === undefined ? codecOf(sides, vendor) : codecWithBetas(sides, vendor, call.betas)
}

const codecOf = (sides: Sides, vendor: VendorDialect): CallCodec | Refusal => {
  const { call, traits, target } = sides
  const passes = call.dialect === upstreamDialect(call, target.model, traits) && call.foreign !== true
  return passes && vendor.pass !== undefined
    ? new PassingCodec(sides, vendor, vendor.pass)
    : translatingCodec(sides, vendor)
}

const codecWithBetas = (
  sides: Sides,
  vendor: VendorDialect,
  requested: readonly string[],
): CallCodec | Refusal => {
  const { target } = sides
  const reach = vendor.betas?.(target.model)
  const betas = betasFor(requested, reach, target.model)
  if (betas instanceof Refusal) return betas
  const codec = codecOf({ ...sides, target: { ...target, betas: betas.sent } }, vendor)
  if (codec instanceof Refusal) return codec
  return {
    path: codec.path,
    body: codec.body,
    headers: reach === 'header' ? betaHeader(betas.sent) : {},
    notCarried: [...codec.notCarried, ...betas.notCarried],
    readWhole: (bytes) => codec.readWhole(bytes),
    relay: () => codec.relay(),
  }
}

const none = () => 0

const noStream = (): never => {
  throw new Error('embeddings are not streamed')
}

const embeddingsCodec = (sides: Sides): CallCodec | Refusal => {
  const { call, traits } = sides
  if (traits.embeds === undefined && call.dialect === 'embeddings') return embeddingsPassed(sides)
  const codec = embeddingsElsewhere(sides)
  if (codec instanceof Refusal) return codec
  const { read, ...sent } = codec
  return {
    ...sent,
    readWhole: (bytes, headers = new Headers()) => {
      const value = readBody(bytes)?.value
      const answered = value === undefined ? undefined : read(value, headers)
      return answered && { ...answered, letters: none, tier: undefined, blocked: false, notCarried: [] }
    },
    relay: noStream,
  }
}

const embeddingsPassed = ({ call, target, traits }: Sides): CallCodec => ({
  path: '/embeddings',
  body: encodeEmbeddingsCall(call, target.model),
  notCarried: [],
  readWhole: (bytes) => {
    const body = readBody(bytes)
    if (body === undefined || !Array.isArray(body.value.data)) return undefined
    const raw = usageFinder(traits)(body.value)
    const usage = raw === undefined ? undefined : readUsage(raw, traits)
    return {
      usage,
      letters: none,
      tier: undefined,
      blocked: false,
      notCarried: [],
      addBill: (billed) => addChatBill(body, billed),
    }
  },
  relay: noStream,
})

/** A change to an answer on its way back, whole or step by step. */
type AnswerChange = {
  readonly reply: (reply: Omit<Reply, 'usage'>) => Omit<Reply, 'usage'>
  readonly steps: (read: StepReader) => StepReader
}
type StepReader = (data: string) => readonly Piece[]

/**
 * The changes an answer needs, in order: undo what the request did, drop what the caller cannot take. Most calls need
 * none.
 */
const answerChanges = (
  conversation: Conversation,
  byTool: boolean,
  { call, target }: Sides,
  vendor: VendorDialect,
) => {
  const caller = callerOf(call)
  const changes: AnswerChange[] = []
  if (byTool) changes.push({ reply: textFromTool, steps: textFromToolSteps })
  const prefill =
    caller.supportsPrefill === true && vendor.supportsPrefill?.(target.model) !== true
      ? prefillOf(conversation)
      : undefined
  if (prefill !== undefined)
    changes.push({
      reply: (reply) => withoutPrefill(reply, prefill),
      steps: (read) => withoutPrefillSteps(read, prefill),
    })
  if (caller.oneCall?.(call.body.value) === true) changes.push({ reply: withOneCall, steps: oneCallSteps })
  return { changes, notCarried: prefill === undefined ? [] : ['prefill'] }
}

const translatingCodec = (sides: Sides, vendor: VendorDialect): CallCodec | Refusal => {
  const { call, target, traits } = sides
  const context = sides.context()
  if (call.unknown !== undefined)
    return refuseUnsupported(`inputs.${call.unknown[0]}`, `'${call.unknown[0]}'`)
  const caller = callerOf(call)
  const read = caller.readConversation(exactValue(call.body))
  const [unknown] = read.unknownContent
  if (unknown !== undefined) return refuseUnsupported(unknown.param, unknown.what)
  const allowed = withAllowedTools(read)
  if (allowed instanceof Refusal) return allowed
  const short = withShortNames(allowed, vendor.names)
  const conversation = short.conversation
  const byTool = conversation.format?.type === 'schema' && vendor.needsSchemaTool(target.model, conversation)
  const encoded = vendor.writeCall(byTool ? withSchemaTool(conversation) : conversation, target)
  if (encoded instanceof Refusal) return encoded
  const back = answerChanges(conversation, byTool, sides, vendor)
  const changes: readonly AnswerChange[] = [...back.changes, short]
  const newId = idMaker(context.requestId)
  return {
    path: vendor.path(target.model, call.stream),
    body: bodyOf(encoded.body).bytes,
    notCarried: [
      ...new Set([
        ...conversation.ignored,
        ...unsupportedIn(conversation, vendor.unsupported),
        ...encoded.notCarried,
        ...back.notCarried,
      ]),
    ],
    readWhole: (bytes) => {
      const body = readBody(bytes)
      const value = body === undefined ? undefined : exactValue(body)
      const read = value === undefined ? undefined : vendor.readReply(value, newId)
      if (value === undefined || read === undefined) return undefined
      const changed = changes.reduce((one, change) => change.reply(one), read)
      const { reply, fault } =
        caller.objectArguments === true ? readableCalls(changed) : { reply: changed, fault: undefined }
      return {
        fault,
        usage: vendor.usageOf(value, traits),
        letters: () => vendor.letters(value),
        tier: servedTier(vendor, target.model, value),
        blocked: reply.blocked === true,
        notCarried: [
          ...new Set([...(reply.notCarried ?? []), ...unsupportedParts(reply, caller.unsupported ?? [])]),
        ],
        addBill: (billed) =>
          caller.addBill(
            bodyOf(written(reply, billed, context, caller.writeReply)),
            billed,
            context.modelName,
          ),
      }
    },
    relay: () => {
      const read: StepReader = toolsInOrder(vendor.streamReader(newId, traits))
      const writer = caller.streamWriter(context, call.listed === true)
      const steps = changes.reduce((one, change) => change.steps(one), read)
      return watchingTier(vendor, target.model, translatedRelay(steps, writer, caller))
    },
  }
}

/** Kinds of parts in an answer that the caller's dialect does not support. */
const unsupportedParts = (
  { choices }: Pick<Reply, 'choices'>,
  unsupported: readonly string[],
): readonly string[] =>
  choices.flatMap(({ parts }) => parts.map(({ type }) => type)).filter((type) => unsupported.includes(type))

const written = (
  reply: Omit<Reply, 'usage'>,
  billed: Billed,
  context: WriterContext,
  write: (reply: Reply, context: WriterContext) => JsonObject,
): JsonObject =>
  write(
    {
      ...reply,
      id: reply.id || context.requestId,
      model: reply.model || context.modelName,
      usage: billed.usage,
    },
    context,
  )

/** Ids for tool calls of vendors that give none; no two conversations of a caller share one. */
const idMaker = (requestId: string): (() => string) => {
  let count = 0
  return () => `call_${requestId.replaceAll('-', '').slice(-16)}_${++count}`
}

/**
 * The codec of one call to one vendor: what to send where, and how to read the reply. If both sides speak one dialect,
 * bytes pass through. If not, everything goes through the neutral form.
 */

import type { Call } from '../core/call.ts'
import { exactValue } from '../core/exact-json.ts'
import { bodyOf, type JsonObject } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import { readUsage, usageFinder } from '../metering/read-usage.ts'
import { hostedArePriced } from '../pricing/quote.ts'
import type { Billed } from './bill-members.ts'
import { addChatBill } from './chat/pass.ts'
import { type CallCodec, callerOf, idMaker, readBody, type Sides, servedTier } from './codec.ts'
import type { VendorDialect } from './dialect.ts'
import { vendorDialects } from './index.ts'
import { betaHeader, betasFor } from './messages/betas.ts'
import type { Conversation, Piece, Reply } from './neutral.ts'
import { PassingCodec } from './passing-codec.ts'
import { streamOfReply } from './reply-steps.ts'
import { encodeEmbeddingsCall, inAskedForm } from './request/embeddings.ts'
import { watchingTier } from './served-tier.ts'
import type { WriterContext } from './stream-writer.ts'
import { withAllowedTools } from './translate/allowed-tools.ts'
import {
  asksSummary,
  hasSummary,
  NO_SUMMARY,
  summarySteps,
  summaryWriter,
  withSummary,
} from './translate/compaction.ts'
import { embeddingsElsewhere } from './translate/embeddings-elsewhere.ts'
import { withoutLateBlocks } from './translate/late-blocks.ts'
import { oneCallSteps, withOneCall } from './translate/one-call.ts'
import { prefillOf, withoutPrefill, withoutPrefillSteps } from './translate/prefill.ts'
import { withoutRepeatedResults } from './translate/repeated-results.ts'
import { textFromTool, textFromToolSteps, withSchemaTool } from './translate/schema-by-tool.ts'
import { withShortNames } from './translate/short-names.ts'
import { readableCalls } from './translate/tool-arguments.ts'
import { toolsInOrder } from './translate/tools-in-order.ts'
import { translatedRelay } from './translate/translate-stream.ts'
import { unsupportedIn } from './translate/unsupported.ts'
import { refuseUnsupported } from './translate/vendor-call.ts'
import { upstreamDialect } from './upstream-dialect.ts'
import { windowCodec } from './window-codec.ts'

/** The codec of a call to a vendor; a Refusal when the vendor's dialect cannot express the call. */
export const codecFor = (sides: Sides): CallCodec | Refusal => {
  const { call, traits } = sides
  if (call.kind === 'embeddings') return embeddingsCodec(sides)
  const vendor = vendorDialects[upstreamDialect(call, sides.target.model, traits)]
  const codec = call.betas === undefined ? codecOf(sides, vendor) : codecWithBetas(sides, vendor, call.betas)
  return codec instanceof Refusal || call.compacts?.window !== true ? codec : windowCodec(codec, call)
}

const codecOf = (sides: Sides, vendor: VendorDialect): CallCodec | Refusal => {
  const { call, traits, target } = sides
  const unsold = hostedUnsold(call, target.model)
  if (unsold !== undefined) return unsold
  const passes = call.dialect === upstreamDialect(call, target.model, traits) && call.foreign !== true
  const isAsked = call.compacts !== undefined && traits.compacts === undefined
  if (!passes || isAsked || vendor.pass === undefined) return translatingCodec(sides, vendor)
  return vendor.pass.refuses?.(call, target) ?? new PassingCodec(sides, vendor, vendor.pass)
}

/** Why a call with tools that the vendor runs is refused; those of responses are left out and named. */
const hostedUnsold = ({ size, dialect }: Call, model: Model): Refusal | undefined =>
  size.hosted === undefined || dialect === 'responses' || hostedArePriced(model, size.hosted.rounds)
    ? undefined
    : invalid(
        'tools',
        `'tools' has tools that the vendor runs, and what they cost for ${model.id} is not known; leave them out or choose another model.`,
      )

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
      return (
        answered && {
          ...answered,
          letters: none,
          tier: undefined,
          blocked: false,
          notCarried: [],
          asStream: noStream,
        }
      )
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
      addBill: (billed) => addChatBill(inAskedForm(call, body), billed),
      asStream: noStream,
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
  const { compacts } = call
  const asked = compacts === undefined ? read : asksSummary(read, compacts.prompt, traits)
  const allowed = withAllowedTools(withoutRepeatedResults(asked))
  if (allowed instanceof Refusal) return allowed
  const short = withShortNames(allowed, vendor.names)
  const conversation = short.conversation
  const byTool = conversation.format?.type === 'schema' && vendor.needsSchemaTool(target.model, conversation)
  const encoded = vendor.writeCall(byTool ? withSchemaTool(conversation) : conversation, target)
  if (encoded instanceof Refusal) return encoded
  const back = answerChanges(conversation, byTool, sides, vendor)
  const changes: readonly AnswerChange[] = [
    ...back.changes,
    short,
    ...(compacts === undefined ? [] : [{ reply: withSummary, steps: summarySteps }]),
  ]
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
      const usage = vendor.usageOf(value, traits)
      const tier = servedTier(vendor, target.model, value)
      return {
        fault:
          reply.fault ?? fault ?? (compacts !== undefined && !hasSummary(changed) ? NO_SUMMARY : undefined),
        usage,
        letters: () => vendor.letters(value),
        tier,
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
        asStream: () => streamOfReply({ ...reply, usage, tier }, { caller, context, listed: call.listed }),
      }
    },
    relay: () => {
      const read: StepReader = toolsInOrder(withoutLateBlocks(vendor.streamReader(newId, traits)))
      const plain = caller.streamWriter(context, call.listed === true)
      const writer = compacts === undefined ? plain : summaryWriter(plain)
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
  choices
    .flatMap(({ parts, citations = [] }) => [
      ...parts.map(({ type }) => type),
      ...citations.map(() => 'citations'),
    ])
    .filter((type) => unsupported.includes(type))

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

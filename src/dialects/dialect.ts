/**
 * What a dialect is: one side reads callers' requests and answers them, the other asks vendors and reads their answers.
 */
import type { Call } from '../core/call.ts'
import type { JsonBody, JsonObject } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Usage } from '../core/usage.ts'
import type { UsageQuirks } from '../metering/read-usage.ts'
import type { Billed } from './bill-members.ts'
import type { Conversation, Part, Piece, Reply } from './neutral.ts'
import type { StreamRelay } from './relay.ts'
import type { StreamWriter, WriterContext } from './stream-writer.ts'
import type { Names } from './translate/short-names.ts'
import type { Unsupported } from './translate/unsupported.ts'
import type { Encoded, Quirks, Target } from './translate/vendor-call.ts'

/** The side of a dialect that faces callers. */
export type CallerDialect = {
  readConversation(body: JsonObject): Conversation
  writeReply(reply: Reply, context: WriterContext): JsonObject
  /** An answer with its bill, whoever wrote it. */
  addBill(reply: JsonBody, billed: Billed, modelName: string): Uint8Array
  streamWriter(context: WriterContext, listed: boolean): StreamWriter
  refusal(refusal: Refusal, requestId: string): JsonObject
  /** Whether it writes the arguments of tools as objects, so that what is no object cannot be written. */
  readonly objectArguments?: true
  /** Whether its streams may contain comments; true when absent. */
  readonly comments?: boolean
  /** Whether the answer to this kind of request has room for only one tool call. */
  oneCall?(request: JsonObject): boolean
  /** Whether an answer continues a last turn of the model. */
  readonly supportsPrefill?: boolean
  /** What an answer may contain that this dialect cannot express to its callers. */
  readonly unsupported?: readonly (Part['type'] | 'citations')[]
}

export type CallerDialectId = Exclude<VendorDialectId, 'converse'> | 'completions' | 'cohere' | 'ollama'

export type VendorDialectId = 'chat' | 'messages' | 'gemini' | 'converse' | 'responses' | 'interactions'

/** How to ask for embeddings, for vendors with a form of their own. */
export type EmbeddingsStyle = 'gemini' | 'vertex' | 'invoke'

/** What differs among the vendors of one dialect. */
export type VendorTraits = Quirks &
  UsageQuirks & {
    /** The dialect that the vendor speaks, except for models that are asked otherwise; chat completions when absent. */
    readonly speaks?: VendorDialectId
    /** How the vendor takes calls for embeddings; as chat completions do when absent. */
    readonly embeds?: EmbeddingsStyle
  }

/** The side of a dialect that faces vendors. */
export type VendorDialect = {
  /** Where to send a call, relative to the vendor's address. */
  path(model: Model, stream: boolean): string
  writeCall(conversation: Conversation, target: Target): Encoded | Refusal
  /**
   * What a conversation may contain that this dialect cannot express; what depends on the model is in `notCarried` of
   * the call.
   */
  readonly unsupported: readonly Unsupported[]
  /** Where it takes betas of the messages dialect for a model, if anywhere. */
  betas?(model: Model): 'header' | 'fields' | undefined
  /** Whether its models continue a last turn of their own. */
  supportsPrefill?(model: Model): boolean
  /** The names of tools and ids of calls that it accepts. */
  readonly names: Names
  /** Whether the model needs a conversation's schema as a tool. */
  needsSchemaTool(model: Model, conversation: Conversation): boolean
  /** Reads an answer; undefined when it is not one. */
  readReply(value: JsonObject, newId: () => string): Omit<Reply, 'usage'> | undefined
  usageOf(value: JsonObject, traits: VendorTraits): Usage | undefined
  /** The tier in which the vendor says that it served this answer, or serves this event's stream. */
  tierOf?(value: JsonObject): string | undefined
  /** Letters in an answer, for estimates. */
  letters(value: JsonObject): number
  streamReader(newId: () => string, traits: VendorTraits): (data: string) => readonly Piece[]
  /** For callers of the same dialect: bytes pass through. Absent if no caller speaks it. */
  readonly pass?: {
    /** The caller's own bytes with the few edits that pricing made. */
    call(call: Call, target: Target): Uint8Array
    /** Members of the call that this vendor would refuse and that are therefore left out; none when absent. */
    notCarried?(call: Call, target: Target): readonly string[]
    /** Why the vendor cannot be sent the call. */
    refuses?(call: Call, target: Target): Refusal | undefined
    isReply(value: JsonObject): boolean
    /** The answer as callers get it; the same when absent. */
    changed?(reply: JsonBody, quirks: Quirks, context: () => WriterContext): JsonBody
    relay(traits: VendorTraits, listed: boolean, modelName: string, context: () => WriterContext): StreamRelay
  }
}

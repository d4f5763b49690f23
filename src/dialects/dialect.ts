/** What a dialect is: one side reads callers and answers them, the other asks vendors and reads their answers. */
import type { Call } from '../core/call.ts'
import type { JsonBody, JsonObject } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Usage } from '../core/usage.ts'
import type { UsageQuirks } from '../metering/usage-quirks.ts'
import type { Billed } from './bill-members.ts'
import type { Conversation, Part, Piece, Reply } from './neutral.ts'
import type { StreamRelay } from './relay.ts'
import type { Names } from './short-names.ts'
import type { StreamWriter, WriterContext } from './stream-writer.ts'
import type { Unsupported } from './unsupported.ts'
import type { Encoded, Quirks, Target } from './vendor-call.ts'

/** The side of a dialect that callers speak. */
export type CallerDialect = {
  readConversation(body: JsonObject): Conversation
  writeReply(reply: Reply, context: WriterContext): JsonObject
  /** An answer with its bill, whoever wrote it. */
  addBill(reply: JsonBody, billed: Billed, modelName: string): Uint8Array
  streamWriter(context: WriterContext, listed: boolean): StreamWriter
  refusal(refusal: Refusal, requestId: string): JsonObject
  /** Whether comments may stand in its streams; true when absent. */
  readonly comments?: boolean
  /** Whether the answer to this kind of request can hold only one call of a tool. */
  oneCall?(request: JsonObject): boolean
  /** Whether an answer goes on from what a last turn of the model has said. */
  readonly goesOn?: boolean
  /** What an answer may hold and this dialect has no way to say to its callers. */
  readonly unsupported?: readonly Part['type'][]
}

export type VendorDialectId = 'chat' | 'messages' | 'gemini' | 'converse' | 'responses'

/** How to ask for embeddings where a vendor takes them in a form of its own. */
export type EmbeddingsStyle = 'gemini' | 'vertex' | 'invoke'

/** What differs among the vendors of one dialect. */
export type Speaker = Quirks &
  UsageQuirks & {
    /** The dialect the vendor speaks, unless a model of it is asked otherwise; chat completions when absent. */
    readonly speaks?: VendorDialectId
    /** How the vendor takes calls for embeddings; as chat completions do when absent. */
    readonly embeds?: EmbeddingsStyle
  }

/** The side of a dialect that vendors speak. */
export type VendorDialect = {
  /** Where to send a call, below the vendor's address. */
  path(model: Model, stream: boolean): string
  writeCall(conversation: Conversation, target: Target): Encoded | Refusal
  /** What a conversation may hold and this dialect has no way to say; what depends on the model is in `notCarried` of the call. */
  readonly unsupported: readonly Unsupported[]
  /** Where it takes betas of the messages dialect for a model, if it does. */
  betas?(model: Model): 'header' | 'fields' | undefined
  /** Whether its models go on from a last turn of their own. */
  goesOn?(model: Model): boolean
  /** What it takes for names of tools and ids of calls. */
  readonly names: Names
  /** Whether the model needs the schema of a conversation as a tool. */
  needsSchemaTool(model: Model, conversation: Conversation): boolean
  /** Reads an answer; undefined when it is none. */
  readReply(value: JsonObject, newId: () => string): Omit<Reply, 'usage'> | undefined
  usageOf(value: JsonObject, speaker: Speaker): Usage | undefined
  /** The tier in which the vendor says that it served this answer, or serves the stream of this event. */
  tierOf?(value: JsonObject): string | undefined
  /** Letters of an answer, for estimates. */
  letters(value: JsonObject): number
  streamReader(newId: () => string, speaker: Speaker): (data: string) => readonly Piece[]
  /** For callers of the same dialect: bytes go through. Absent where no caller speaks it. */
  readonly pass?: {
    /** The caller's own bytes with the few edits that pricing made. */
    call(call: Call, target: Target): Uint8Array
    /** Members of the call that this vendor would refuse and that are therefore not carried; none when absent. */
    notCarried?(call: Call, target: Target): readonly string[]
    isReply(value: JsonObject): boolean
    relay(speaker: Speaker, listed: boolean, modelName: string): StreamRelay
  }
}

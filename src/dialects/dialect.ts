/** What a dialect is: one side reads callers and answers them, the other asks vendors and reads their answers. */
import type { Call } from '../core/call.ts'
import type { JsonBody, JsonObject } from '../core/json-body.ts'
import type { Model } from '../core/model.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Usage } from '../core/usage.ts'
import type { UsageTaste } from '../metering/usage-taste.ts'
import type { Conversation, Part, Piece, Reply } from './neutral.ts'
import type { StreamRelay } from './relay.ts'
import type { Names } from './short-names.ts'
import type { StreamWriter, WriterContext } from './stream-writer.ts'
import type { Told } from './told.ts'
import type { Encoded, Target, Taste } from './vendor-call.ts'

/** The side of a dialect that callers speak. */
export type CallerDialect = {
  readConversation(body: JsonObject): Conversation
  writeReply(reply: Reply, context: WriterContext): JsonObject
  /** An answer with its bill, whoever wrote it. */
  tell(reply: JsonBody, told: Told, modelName: string): Uint8Array
  streamWriter(context: WriterContext, listed: boolean): StreamWriter
  refusal(refusal: Refusal, requestId: string): JsonObject
  /** Whether comments may stand in its streams; true when absent. */
  readonly comments?: boolean
  /** Whether a request is of a form whose answer tells one call of a tool at most. */
  oneCall?(request: JsonObject): boolean
  /** Whether an answer goes on from what a last turn of the model has said. */
  readonly goesOn?: boolean
  /** What an answer may hold and callers of this dialect cannot be told. */
  readonly lacks?: readonly Part['type'][]
}

export type VendorDialectId = 'chat' | 'messages' | 'gemini' | 'converse' | 'responses'

/** How vendors that take embeddings in a form of their own are asked for them. */
export type EmbeddingsStyle = 'gemini' | 'vertex' | 'invoke'

/** What differs among the vendors of one dialect. */
export type Speaker = Taste &
  UsageTaste & {
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
  /** Where it takes betas of the messages dialect for a model, if it does. */
  betas?(model: Model): 'header' | 'fields' | undefined
  /** Whether its models go on from a last turn of their own. */
  goesOn?(model: Model): boolean
  /** What it takes for names of tools and ids of calls. */
  readonly names: Names
  /** Whether the model needs the schema of a conversation as a tool. */
  lacksSchemas(model: Model, conversation: Conversation): boolean
  /** Reads an answer; undefined when it is none. */
  readReply(value: JsonObject, newId: () => string): Omit<Reply, 'usage'> | undefined
  usageOf(value: JsonObject, speaker: Speaker): Usage | undefined
  /** The tier in which the vendor says that it served an answer, or serves the stream of an event. */
  tierOf?(value: JsonObject): string | undefined
  /** Letters of an answer, for estimates. */
  letters(value: JsonObject): number
  streamReader(newId: () => string, speaker: Speaker): (data: string) => readonly Piece[]
  /** For callers of the same dialect: bytes go through. Absent where no caller speaks it. */
  readonly pass?: {
    /** The caller's own bytes with the few edits that pricing made. */
    call(call: Call, target: Target): Uint8Array
    /** Members of the call that this vendor would refuse, and that are left out; none when absent. */
    dropped?(call: Call, target: Target): readonly string[]
    isReply(value: JsonObject): boolean
    relay(speaker: Speaker, listed: boolean, modelName: string): StreamRelay
  }
}

/** A call as admission, pricing and metering see it, whatever dialect it came in. */
import type { JsonBody } from './json-body.ts'
import type { ModelKind, Priced } from './model.ts'
import type { Refusal } from './refusal.ts'

/** What bounds the input's cost before anyone has counted tokens. */
export type InputSize = {
  /** UTF-8 bytes of the body without inlined media: no byte-level tokenizer makes more tokens than bytes. */
  readonly textBytes: number
  /** A tighter bound on the tokens of the text. If it is wrong, the house pays; see gateway/house-risk.ts. */
  readonly textTokens?: number
  readonly images: number
  /** Bytes of inlined audio. */
  readonly audioBytes: number
  /** It holds media whose tokens its bytes do not bound: only the model's context does. */
  readonly unbounded?: boolean
}

/** The API style a call came in. */
type DialectId = 'chat' | 'messages' | 'gemini' | 'responses' | 'embeddings'

/**
 * How results that are not chat are told: the vendor's body (`run`), one address (`image_url`), OpenAI's list of pictures as
 * addresses, base64 or events of a stream, the bytes themselves, the vendor's body without more (`plain`), what was said, or
 * as Google's clients know them: parts of a candidate, predictions, an operation.
 */
export type ResultStyle =
  | 'run'
  | 'image_url'
  | 'images_url'
  | 'images_base64'
  | 'image_generation_events'
  | 'image_edit_events'
  | 'bytes'
  | 'plain'
  | `gemini_${'content' | 'predictions' | 'operation'}`
  | `transcript_${'json' | 'text' | 'srt' | 'vtt' | 'verbose_json'}`

/** How long the caller of a job wants to wait (RFC 7240): not at all, so many milliseconds, or as long as is usual. */
export type Prefer = { readonly waitMs: number; readonly said: string }

/** Media that inputs name and that must be read before they can be checked and priced. */
type Unread = {
  /** Addresses (https, or `file-…`) with the inputs that name them, as their caller knows them. */
  readonly media: readonly UnreadMedia[]
  /** The call with what was read: addresses by those that were given. */
  readonly decode: (read: ReadonlyMap<string, string>) => Call | Refusal
}

export type UnreadMedia = {
  readonly param: string
  readonly address: string
  readonly takes: (address: string) => boolean
}

export type Call = {
  readonly kind: ModelKind
  readonly dialect: DialectId
  /** The model as the caller named it. */
  readonly modelName: string
  readonly body: JsonBody
  readonly stream: boolean
  /** The caller asked for the usage event of a stream. */
  readonly showUsage: boolean
  /** The caller's own bound on the output, in tokens; undefined when it gave none. */
  readonly maxOutput?: number
  /** The caller's bound was larger than the model's, which stands in its place. */
  readonly boundLowered?: boolean
  /** Answers asked for (`n`). */
  readonly choices: number
  readonly size: InputSize
  /** Of the kind `media`: its inputs and prices, and the style in which its results are told. */
  readonly priced?: Priced
  /** Of the same kind, instead of `priced`. */
  readonly unread?: Unread
  readonly results?: ResultStyle
  /** Of a job: whether its caller waits for it, and where it is told of its end. */
  readonly prefer?: Prefer
  readonly webhook?: string
  /** The body holds what only another vendor's dialect knows, so its bytes cannot go through as they are. */
  readonly foreign?: boolean
  /** Chat completions: its messages hold reasoning of earlier answers. */
  readonly thoughts?: boolean
  /** Members of a run's inputs that its form does not know: no other form can say them. */
  readonly unknown?: readonly string[]
  /** Betas of the messages dialect that the caller asks for, by name. */
  readonly betas?: readonly string[]
  /** The stream is wanted as one JSON list instead of events (Gemini without `alt=sse`). */
  readonly listed?: boolean
}

/** A call as admission, pricing and metering see it, whatever dialect it came in. */
import type { JsonBody } from './json-body.ts'
import type { ModelKind, Priced } from './model.ts'
import type { Refusal } from './refusal.ts'

/** What bounds the input's cost before anyone has counted tokens. */
export type InputSize = {
  /** UTF-8 bytes of the body without inlined media: no byte-level tokenizer makes more tokens than bytes. */
  readonly textBytes: number
  /**
   * A tighter estimate of the text's tokens. If it is too low, the house pays the difference; see
   * gateway/house-risk.ts.
   */
  readonly textTokens?: number
  readonly images: number
  /** Bytes of inlined audio. */
  readonly audioBytes: number
  /** The vendor may first read all of it for a summary, whose length no bound of the call limits. */
  readonly compacts?: true
  /** It holds media whose tokens are not bounded by its bytes, only by the model's context. */
  readonly unbounded?: boolean
  /** Tools that the vendor runs: how often the model may read its input, and how many searches are paid beside it. */
  readonly hosted?: { readonly rounds: number; readonly searches: number }
}

/** The API style a call came in. */
type DialectId =
  | 'chat'
  | 'messages'
  | 'gemini'
  | 'responses'
  | 'interactions'
  | 'completions'
  | 'cohere'
  | 'ollama'
  | 'embeddings'

/**
 * The form in which results other than chat are returned: the vendor's body (`run`), a single address (`image_url`),
 * OpenAI's list of images as addresses, base64 or stream events, the bytes themselves, the vendor's body alone
 * (`plain`), a transcript, or a form that Google's clients know: parts of a candidate, predictions or an operation.
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

/** How long the caller of a job wants to wait (RFC 7240), and how it said so. */
export type Prefer = { readonly waitMs: number; readonly said: string }

/** Media that the inputs name and that must be read before the inputs can be checked and priced. */
type Unread = {
  /** Addresses (https, or `file-…`), each with the input that names it, under the name the caller used. */
  readonly media: readonly UnreadMedia[]
  /** Makes the call from what was read; the map goes from the address in the call to its replacement. */
  readonly decode: (read: ReadonlyMap<string, string>) => Call | Refusal
}

export type UnreadMedia = {
  readonly param: string
  readonly address: string
  readonly takes: (address: string) => boolean
}

/** What a call of a product that is not chat asks for. Its price is known once the media of its inputs are read. */
export type MediaAsk = {
  /** The form of the results. */
  readonly results: ResultStyle
  /** For a job: whether its caller waits for it, and where to send word of its end. */
  readonly prefer?: Prefer
  readonly webhook?: string
} & (
  | { readonly priced: Priced; readonly unread?: undefined }
  | { readonly unread: Unread; readonly priced?: undefined }
)

type Compaction = {
  /** What a model is asked that has no compaction of its own. */
  readonly prompt: string
  /** The caller wants what is left of the conversation with it, as one list (POST /v1/responses/compact). */
  readonly window?: true
}

/**
 * Optional members are absent from most calls: then the caller gave no such thing, or the body has none.
 */
export type Call = {
  readonly kind: ModelKind
  readonly dialect: DialectId
  /** The model as the caller named it. */
  readonly modelName: string
  readonly body: JsonBody
  readonly stream: boolean
  /** The caller asked for the usage event in its stream. */
  readonly showUsage: boolean
  /** The caller's own limit on output tokens; undefined when it gave none. */
  readonly maxOutput?: number
  /** The caller's limit was larger than the model's, so the model's applies. */
  readonly boundLowered?: boolean
  /** The caller's limit was smaller than the vendor takes, so the vendor's least applies. */
  readonly boundRaised?: boolean
  /** How many answers the caller asked for (`n`). */
  readonly choices: number
  readonly size: InputSize
  /** For the kind `media`. */
  readonly media?: MediaAsk
  /** The body uses something that only another vendor's dialect knows, so its bytes cannot be forwarded as they are. */
  readonly foreign?: boolean
  /** Chat completions: the messages contain reasoning from earlier answers. */
  readonly thoughts?: boolean
  /** Members of a run's inputs that its schema does not know. They cannot be translated to another form. */
  readonly unknown?: readonly string[]
  /** The vendor's cheaper tier that the caller asks for, in small letters. */
  readonly tier?: string
  /** The answer is to be a summary that takes the conversation's place. */
  readonly compacts?: Compaction
  /** Betas of the messages dialect that the caller asks for, by name. */
  readonly betas?: readonly string[]
  /** The caller wants the stream as one JSON list instead of events (Gemini without `alt=sse`). */
  readonly listed?: boolean
  /** The media type of the stream, if it is none of events. */
  readonly streamType?: 'application/x-ndjson'
}

/** A call as admission, pricing and metering see it, whatever dialect it came in. */
import type { JsonBody } from './json-body.ts'
import type { ModelKind } from './model.ts'

/** What bounds the input's cost before anyone has counted tokens. */
export type InputSize = {
  /** UTF-8 bytes of the body without inlined media: no byte-level tokenizer makes more tokens than bytes. */
  readonly textBytes: number
  /** A tighter bound on the tokens of the text, at the house's risk; see gateway/house-risk.ts. */
  readonly textTokens?: number
  readonly images: number
  /** Bytes of inlined audio. */
  readonly audioBytes: number
  /** It holds media whose tokens its bytes do not bound: only the model's context does. */
  readonly unbounded?: boolean
}

/** The API style a call came in. */
type DialectId = 'chat' | 'messages' | 'gemini' | 'responses' | 'embeddings'

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
  /** The body holds what only another vendor's dialect knows, so its bytes cannot go through as they are. */
  readonly foreign?: boolean
  /** Betas of the messages dialect that the caller asks for, by name. */
  readonly betas?: readonly string[]
  /** The stream is wanted as one JSON list instead of events (Gemini without `alt=sse`). */
  readonly listed?: boolean
}

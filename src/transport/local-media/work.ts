/** What a built-in product gets and produces, as it passes between the server and the process that does the work. */
import type { JsonObject } from '../../core/json-body.ts'

export type LocalResult =
  | { readonly json: JsonObject }
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly mediaType: string }

/** Inputs of the product, checked; `bytes` are those at its address, if it has one. */
export type Work = {
  readonly product: string
  readonly inputs: JsonObject
  readonly bytes?: Uint8Array<ArrayBuffer>
}

/** Bytes of a stored file from `start` up to but not including `end`; it stays with the server. */
export type Part = (start: number, end: number) => Promise<Uint8Array>

/** What the process asks for while it works; the server answers with PartGiven. */
export type PartAsked = { readonly part: number; readonly start: number; readonly end: number }

/** Without bytes the part cannot be read. */
export type PartGiven = { readonly part: number; readonly bytes: Uint8Array | undefined }

/** The process's reply to one piece of work. */
export type WorkReply =
  | { readonly made: LocalResult }
  | { readonly wrong: { readonly field: string; readonly message: string } }
  | { readonly broken: string }

/** Makes a product; throws WrongInput when the inputs are to blame. */
export type Make = (inputs: JsonObject, bytes: Uint8Array<ArrayBuffer>, part: Part) => Promise<LocalResult>

/** The product cannot work on these inputs. */
export class WrongInput extends Error {
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** What a built-in product gets and produces, as it passes between the server and the process that does the work. */
import type { JsonObject } from '../../core/json-body.ts'
import type { Made } from '../../vendors/local/product.ts'

/** As product: the length of a stored sound or film, of the same strangers' files. */
export const LENGTH = 'length'

/** Inputs of the product, checked; `bytes` are those at its address, if it has one. */
export type Work = {
  readonly product: string
  readonly inputs: JsonObject
  readonly bytes?: Uint8Array<ArrayBuffer>
}

/** What the process asks for while it works; the server answers with PartGiven. */
export type PartAsked = { readonly part: number; readonly start: number; readonly end: number }

/** Without bytes the part cannot be read. */
export type PartGiven = { readonly part: number; readonly bytes: Uint8Array | undefined }

/** The process's reply to one piece of work. */
export type WorkReply =
  | { readonly made: Made }
  | { readonly wrong: { readonly field: string; readonly message: string } }
  | { readonly broken: string }

/** The product cannot work on these inputs. */
export class WrongInput extends Error {
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

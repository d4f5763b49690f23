/** What a built-in product is given and makes, as it passes between the server and the process that does the work. */
import type { JsonObject } from '../../core/json-body.ts'

export type Made =
  | { readonly json: JsonObject }
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly mediaType: string }

/** Inputs of the product, checked; `bytes` are those of its address, where it has one. */
export type Work = {
  readonly product: string
  readonly inputs: JsonObject
  readonly bytes?: Uint8Array<ArrayBuffer>
}

/** What a process answers, to one piece of work at a time. */
export type Answered =
  | { readonly made: Made }
  | { readonly wrong: { readonly field: string; readonly message: string } }
  | { readonly broken: string }

/** Makes a product; throws WrongInput for what the inputs are to blame for. */
export type Make = (inputs: JsonObject, bytes: Uint8Array<ArrayBuffer>) => Promise<Made>

/** The inputs are not what the product can work on. */
export class WrongInput extends Error {
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

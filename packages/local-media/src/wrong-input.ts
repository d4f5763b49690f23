/** Inputs that a product cannot work on. */

/** `message` names the input `field` in quotes, and goes to the caller. */
export class WrongInput extends Error {
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

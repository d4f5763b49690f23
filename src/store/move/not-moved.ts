/** Why a ledger, or an organisation of it, was not moved. */
export class NotMoved extends Error {}

/** Somebody else moves it. */
export class BeingMoved extends NotMoved {
  constructor(options?: ErrorOptions) {
    super('another command is moving this organisation', options)
  }
}

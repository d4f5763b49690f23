/** Refusals of the helper endpoints under /api, whose body is a stable `error` string instead of an error object. */
export class HelperRefusal {
  readonly status: number
  readonly body: Readonly<Record<string, string | number>>

  constructor(
    status: number,
    error: string,
    message: string,
    members: Readonly<Record<string, string | number>> = {},
  ) {
    this.status = status
    this.body = { error, message, ...members }
  }
}

/** A refusal in the words of a form: its reader sees labels, not the names of the API's members. */
import { ApiError } from '../api.ts'

/** The same error, with the label in place of each member's name. */
export const labelled = (error: unknown, labels: Readonly<Record<string, string>>): unknown => {
  if (!(error instanceof ApiError)) return error
  const { status, code, requestId, message } = error
  const named = message.replaceAll(/'([a-z_.]+)'/g, (quoted, name: string) =>
    Object.hasOwn(labels, name) ? `“${labels[name]}”` : quoted,
  )
  return new ApiError(status, { message: named, code, request_id: requestId })
}

/** The answer to one request, and what is wrong with it by itself. */
import { type Known, learn } from './known.ts'
import type { Sent } from './requests.ts'

/** A call that has not answered by then hangs; no busy machine takes this long. */
export const PATIENCE_MS = 300_000

export type Answered = {
  readonly sent: Sent
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly wrong: string | undefined
  /**
   * It is a success without the shape of the reference: a vendor of the caller's dialect may have written it that way.
   */
  readonly strange?: boolean
}

/** The request, or undefined where the platform refuses to make it: then no client can send it this way either. */
const made = ({ method, path, headers, body }: Sent): Request | undefined => {
  try {
    return new Request(`http://turnpike.test${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    })
  } catch {
    return undefined
  }
}

const isJson = (line: string): boolean => {
  try {
    return JSON.parse(line) !== undefined
  } catch {
    return false
  }
}

/** What is wrong with an answer, if anything is. */
const wrongWith = ({ method }: Sent, response: Response, text: string): string | undefined => {
  if (response.status === 500) return `is a 500: ${text.slice(0, 300)}`
  if (response.headers.get('x-request-id') === null) return 'has no request id'
  if (text === '') return undefined
  if (method === 'HEAD' && response.ok) return 'has a body'
  const type = response.headers.get('content-type') ?? ''
  if (response.ok && type.startsWith('text/event-stream'))
    return /^(?:data|event|:)/.test(text) ? undefined : 'is no stream of events'
  if (response.ok && type === 'application/x-ndjson')
    return text.split('\n').slice(0, -1).every(isJson) ? undefined : 'is no stream of lines'
  // Pages for people, and what crawlers read.
  if (response.ok && /^(?:text\/(?:html|plain)|application\/xml)/.test(type)) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'is not JSON'
  }
  if (response.ok) return undefined
  const body: unknown = Array.isArray(value) ? value[0] : value
  // The last is the form of a company's directory.
  return body !== null &&
    typeof body === 'object' &&
    ('error' in body || 'message' in body || 'detail' in body)
    ? undefined
    : 'is no error of the reference'
}

/** Waits for what must come; rejects when it hangs. */
export const inTime = async <T>(coming: Promise<T>, what: string): Promise<T> => {
  let late: Timer | undefined
  const hangs = new Promise<never>((_resolve, reject) => {
    late = setTimeout(() => reject(new Error(`${what} did not come in ${PATIENCE_MS} ms`)), PATIENCE_MS)
  })
  try {
    return await Promise.race([coming, hangs])
  } finally {
    clearTimeout(late)
  }
}

export type Ask = (sent: Sent) => Promise<Answered | undefined>

/** Asks the server, whose harness rejects answers that do not fit the reference; undefined where no client could ask. */
export const askWith =
  (fetch: (request: Request) => Promise<Response>, known: Known): Ask =>
  async (sent) => {
    const request = made(sent)
    if (request === undefined) return undefined
    try {
      const answer = async (): Promise<Answered> => {
        const response = await fetch(request)
        const text = await response.text()
        learn(known, response, text)
        const { status, headers } = response
        return { sent, status, headers, text, wrong: wrongWith(sent, response, text) }
      }
      return await inTime(answer(), 'it')
    } catch (error) {
      const wrong = `failed: ${error instanceof Error ? error.message : String(error)}`
      const strange = /does not answer what its row declares \(2|streams what its row does not/.test(wrong)
      return { sent, status: 0, headers: new Headers(), text: '', wrong, strange }
    }
  }

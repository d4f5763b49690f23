/** Calls of the playground, with a key of its own that is made on first use. */
import type { PlayKeyShown } from '../../../schema/keys.ts'
import { ApiError, ask, gatewayAddress, unreadable } from '../api.ts'

let key: Promise<string> | undefined

/** The key of this page; after a failure the next call makes another. */
const playKey = (): Promise<string> => {
  key ??= ask<PlayKeyShown>('POST', '/playground/key')
    .then((made) => made.key)
    .catch((error: unknown) => {
      key = undefined
      throw error
    })
  return key
}

/** The key is of the person who was signed in when it was made, and calls with it are paid by their organisation. */
export const forgetPlayKey = (): void => {
  key = undefined
}

export type Output = {
  readonly type: string
  readonly url?: string
  readonly media_type?: string
  readonly text?: string
  readonly value?: unknown
}

export type Run = {
  readonly id: string
  readonly status?: string
  readonly progress?: number
  readonly max_cost_usd?: number
  /** Absent where the job cannot be cancelled. */
  readonly cancel_cost_usd?: number
  readonly error?: { readonly message: string }
  readonly outputs?: readonly Output[]
}

/** Asks with the key of this page, and once again with another where it is gone: after an hour, or when another tab made one. */
export const withPlayKey = async (send: (token: string) => Promise<Response>): Promise<Response> => {
  const used = playKey()
  const response = await send(await used)
  if (response.status !== 401) return response
  // Several calls at once find it gone: only the first makes another, which would end that of the others.
  if (key === used) key = undefined
  return send(await playKey())
}

/** Calls the gateway; rejects with its own words. */
const askGateway = async (
  method: string,
  path: string,
  body?: BodyInit,
  more: Record<string, string> = {},
) => {
  const response = await withPlayKey((token) =>
    fetch(`${gatewayAddress()}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...more },
      ...(body === undefined ? {} : { body }),
    }).catch(() => {
      throw new ApiError(0, unreadable)
    }),
  )
  const value = await response.json().catch(() => ({}))
  if (response.ok) return { response, value }
  const { message = `The server answered ${response.status}.`, code = '' } = value.error ?? {}
  const request_id = response.headers.get('x-request-id') ?? ''
  throw new ApiError(response.status, { message, code, request_id })
}

/** Runs a model; a job is answered as soon as it was accepted. */
export const startRun = async (
  model: string,
  inputs: object,
): Promise<{ readonly requestId: string; readonly run: Run }> => {
  const { response, value } = await askGateway('POST', '/run', JSON.stringify({ model, inputs }), {
    'content-type': 'application/json',
    prefer: 'respond-async',
  })
  return { requestId: response.headers.get('x-request-id') ?? '', run: value }
}

/** The state of a job. */
export const runNow = async (id: string): Promise<Run> => (await askGateway('GET', `/run/${id}`)).value

export const cancelRun = async (id: string): Promise<Run> => (await askGateway('DELETE', `/run/${id}`)).value

/** Uploads a file to the server; returns its id. */
export const uploadFile = async (file: File): Promise<string> => {
  const form = new FormData()
  form.set('purpose', 'user_data')
  form.set('file', file)
  return (await askGateway('POST', '/files', form)).value.id
}

/** The console's API from the page: one function, errors in the server's own words, and what is asked again and when. */
import { keepPreviousData, QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import type { z } from 'zod'
import type { Written } from '../../../control/face.ts'
import type { actRows } from '../../acts.ts'
import type { SessionShown } from '../../schema/session.ts'

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string
  /** Which of several causes it was, where the server says it in a word. */
  readonly reason: string | undefined

  constructor(
    status: number,
    {
      message,
      code,
      request_id,
      reason,
    }: { message: string; code: string; request_id: string; reason?: string },
  ) {
    super(message)
    this.status = status
    this.code = code
    this.requestId = request_id
    this.reason = reason
  }
}

/** Whether the server is away, as while its ledger is: asked again a little later, it may well answer. */
export const isAway = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status >= 500)

export const unreadable = {
  message: 'The server cannot be reached. Try again.',
  code: 'unreachable',
  request_id: '',
}

/** Somebody has changed the person's role since the page read the session; its own answer would be asked for again. */
const hasOtherRole = (path: string, { headers }: Response): boolean => {
  const role = headers.get('x-role')
  const session = queries.getQueryData(sessionQuery.queryKey)
  if (path === '/session' || role === null || session === undefined) return false
  return role !== (session.organisation?.role ?? 'none')
}

const sent = async (path: string, init: RequestInit): Promise<Response> => {
  const response = await fetch(`/console/api${path}`, init).catch(() => {
    throw new ApiError(0, unreadable)
  })
  if (hasOtherRole(path, response)) void queries.invalidateQueries(sessionQuery)
  if (response.ok) return response
  const value = await response.json().catch(() => ({}))
  // The session ended, perhaps in another tab: the shell then leads to the sign-in, and back to this page.
  if (value.error?.code === 'sign_in_required') void queries.invalidateQueries(sessionQuery)
  throw new ApiError(response.status, value.error ?? unreadable)
}

/** Which organisation this page shows. The session may look at another one by now, if another tab chose that. */
const shownHere = (): Readonly<Record<string, string>> => {
  const shown = queries.getQueryData(sessionQuery.queryKey)?.organisation
  return shown == null ? {} : { 'x-organisation': shown.id }
}

const readJson = <T>(response: Response): Promise<T> =>
  response.json().catch(() => {
    throw new ApiError(response.status, unreadable)
  })

/** Asks the server; rejects with an ApiError. The caller names what the address answers. */
export const ask = async <T>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<T> =>
  readJson(
    await sent(path, {
      method,
      headers: {
        ...shownHere(),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  )

/** The same with the secret of a tenant's link: no session is needed or sent. */
const byLink = (secret: string): RequestInit => ({
  credentials: 'omit',
  headers: { authorization: `Bearer ${secret}` },
})
export const askBy = async <T>(secret: string, path: string): Promise<T> =>
  readJson(await sent(path, byLink(secret)))
export const textBy = async (secret: string, path: string): Promise<string> =>
  (await sent(path, byLink(secret))).text()

/** A browser without a network still reaches a console on its own machine: what is asked does not wait for one. */
const networkMode = 'always'

export const queries = new QueryClient({
  defaultOptions: {
    mutations: { networkMode },
    queries: {
      networkMode,
      staleTime: 5_000,
      retry: (count, error) => count < 2 && isAway(error),
    },
  },
})

/** The answer of an address, cached under its path. */
export const reading = <T>(path: string, everyMs?: number) =>
  queryOptions({
    queryKey: [path],
    queryFn: () => ask<T>('GET', path),
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
  })

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => ask<SessionShown>('GET', '/session'),
  staleTime: 60_000,
})

/** A query string from the members that are not empty. */
export const queryOf = (values: Readonly<Record<string, string | undefined>>): string => {
  const set = Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value]],
  )
  return set.length === 0 ? '' : `?${new URLSearchParams(set)}`
}

/** Calls of the gateway's own API take a key, never the session. */
export const gatewayAddress = (): string => `${location.origin}/v1`

type Rows = typeof actRows

/** What an act shows, by its row: amounts are decimal texts. */
export type Shown<Row extends keyof Rows> = Written<z.output<Rows[Row]['act']['shows']>>

type Input = Readonly<Record<string, unknown>>

/** The address of a row with its parameters filled in, and the members of the input that are left. */
const addressed = (path: string, input: Input) => {
  const left = { ...input }
  const filled = path.replace(/:(\w+)/g, (_whole, name) => {
    const { [name]: value } = left
    delete left[name]
    return encodeURIComponent(String(value))
  })
  return { filled, left }
}

const textOf = (value: unknown) => (value === undefined || value === '' ? undefined : String(value))

/** Performs an act of the control plane: rejects with an ApiError. */
export const act = <Row extends keyof Rows>(row: Row, input: Input = {}): Promise<Shown<Row>> => {
  const [method, path = ''] = row.split(' ') as ['GET' | 'POST' | 'PUT' | 'DELETE', string]
  const { filled, left } = addressed(path, input)
  if (method === 'POST' || method === 'PUT') return ask<Shown<Row>>(method, filled, left)
  return ask<Shown<Row>>(
    method,
    `${filled}${queryOf(Object.fromEntries(Object.entries(left).map(([name, value]) => [name, textOf(value)])))}`,
  )
}

/** What an act that changes nothing shows, cached under its row and input. */
export const showing = <Row extends keyof Rows>(row: Row, input: Input = {}, everyMs?: number) =>
  queryOptions({
    queryKey: [row, input],
    queryFn: () => act(row, input),
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
  })

/** The same, in a part of the page. */
export const useShown = <Row extends keyof Rows>(row: Row, input: Input = {}, everyMs?: number) =>
  useQuery(showing(row, input, everyMs))

/** The same of a list in pages, or with filters: what was shown stays until the next has its answer. */
export const usePage = <Row extends keyof Rows>(row: Row, input: Input = {}, everyMs?: number) =>
  useQuery({ ...showing(row, input, everyMs), placeholderData: keepPreviousData })

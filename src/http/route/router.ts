/** Finds the route for a request's address, and refuses paths that two readers could understand differently. */
import { type Refusal, refuse } from '../../core/refusal.ts'
import { type HeaderReader, isOfCohere } from './headers.ts'
import { notOffered } from './not-offered.ts'
import type { Route } from './route.ts'

export type Matched = { readonly route: Route; readonly params: Readonly<Record<string, string>> }

const NO_PARAMS: Readonly<Record<string, string>> = {}

/** Builds the matcher once; most requests are found with a single look-up. */
export const createRouter = (routes: readonly Route[]) => {
  const fixed = new Map<string, Route[]>()
  const patterns: { readonly segments: readonly string[]; readonly routes: Route[] }[] = []
  for (const route of routes) {
    if (!/[:*]/.test(route.path)) {
      fixed.set(route.path, [...(fixed.get(route.path) ?? []), route])
      continue
    }
    const same = patterns.find((pattern) => pattern.segments.join('/') === route.path)
    if (same) same.routes.push(route)
    else patterns.push({ segments: route.path.split('/'), routes: [route] })
  }
  const byPattern = (path: string) => {
    const segments = path.split('/')
    for (const pattern of patterns) {
      const params = matchSegments(pattern.segments, segments)
      if (params) return { routes: pattern.routes, params }
    }
    return undefined
  }
  const isThere = (path: string): boolean => fixed.has(path) || byPattern(path) !== undefined
  return (method: string, path: string): Matched | Refusal => {
    const found = fixed.get(path)
    if (found) return chosen(found, method, path, NO_PARAMS)
    // An ambiguous path is never one of the fixed ones.
    const ambiguous = checkPath(path)
    if (ambiguous) return ambiguous
    const refused = notOffered(method, path)
    if (refused) return refused
    const matched = byPattern(path)
    return matched === undefined
      ? nothingAt(meantBy(path).find(isThere))
      : chosen(matched.routes, method, path, matched.params)
  }
}

/** What a path may have meant when the client's base address has one `/v1` too many or too few. */
const meantBy = (path: string): readonly string[] => [
  path.replace(/^(\/v1)+\//, '/v1/'),
  path.replace(/^(\/v1)+\//, '/'),
  `/v1${path}`,
]

const nothingAt = (meant: string | undefined): Refusal =>
  refuse(
    'not_found',
    meant === undefined
      ? 'There is nothing at this address; GET /reference lists what there is.'
      : `There is nothing at this address. ${meant} is probably meant: check whether the base address of your client should end in /v1.`,
  )

const chosen = (
  routes: readonly Route[],
  method: string,
  path: string,
  params: Readonly<Record<string, string>>,
): Matched | Refusal => {
  for (const route of routes) if (route.method === method) return { route, params }
  // No call is run, and charged, for its headers alone.
  const seen =
    method === 'HEAD' ? routes.find((route) => route.method === 'GET' && route.runs !== true) : undefined
  if (seen !== undefined) return { route: seen, params }
  const refused = notOffered(method, path)
  if (refused) return refused
  const allow = routes.map((one) => one.method).join(', ')
  return refuse('method_not_allowed', `This address takes ${allow}, not ${method}.`, { headers: { allow } })
}

const matchSegments = (
  pattern: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined => {
  const params: Record<string, string> = {}
  for (const [index, part] of pattern.entries()) {
    if (part.startsWith('*')) {
      const rest = decoded(segments.slice(index).join('/'))
      if (rest === undefined || rest === '') return undefined
      params[part.slice(1)] = rest
      return params
    }
    const segment = segments[index]
    if (segment === undefined) return undefined
    if (!part.startsWith(':')) {
      if (segment !== part) return undefined
      continue
    }
    const value = decoded(segment)
    if (value === undefined || value === '' || value.includes('/')) return undefined
    params[part.slice(1)] = value
  }
  return pattern.length === segments.length ? params : undefined
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The row that answers this caller: clients of Google, Cohere and messages have some addresses in common with others. */
export const routeFor = (route: Route, headers: HeaderReader): Route => {
  const { google, cohere, messages } = route
  if (google !== undefined && headers.get('x-goog-api-key') !== null) return google
  if (cohere !== undefined && isOfCohere(headers)) return cohere
  return messages !== undefined && headers.get('anthropic-version') !== null ? messages : route
}

/** Path and query of a request's URL, without parsing the rest. */
export const splitUrl = (url: string): { path: string; query: string } => {
  // Without a host, which HTTP/1.0 may leave out, it begins with the path.
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  if (start < 0) return { path: '/', query: '' }
  const mark = url.indexOf('?', start)
  return mark < 0
    ? { path: url.slice(start), query: '' }
    : { path: url.slice(start, mark), query: url.slice(mark + 1) }
}

/** The full address of a request, even if it named no host. */
export const addressOf = ({ url }: Request): string => (url.startsWith('/') ? `http://localhost${url}` : url)

const AMBIGUOUS = /\/\/|\/\.{1,2}(?:\/|$)|;|\\|%(?:2e|5c|00|3b)/i

/**
 * Refuses dot segments, empty segments, parameters and encoded separators: with these, a check and a route can
 * disagree.
 */
export const checkPath = (path: string): Refusal | undefined =>
  AMBIGUOUS.test(path)
    ? refuse('invalid_parameter', 'The path has empty or dot segments, or encoded separators.', {
        members: { param: 'path' },
      })
    : undefined

/** From method and path to a route of the table. */
import { type Refusal, refuse } from '../core/refusal.ts'
import type { Route } from './route.ts'

type Matched = { readonly route: Route; readonly params: Readonly<Record<string, string>> }

const NO_PARAMS: Readonly<Record<string, string>> = {}

/** Makes the matcher once; most requests are found by one look-up. */
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
  return (method: string, path: string): Matched | Refusal => {
    const found = fixed.get(path)
    if (found) return chosen(found, method, NO_PARAMS)
    const segments = path.split('/')
    for (const pattern of patterns) {
      const params = matchSegments(pattern.segments, segments)
      if (params) return chosen(pattern.routes, method, params)
    }
    return refuse('not_found', 'There is nothing at this address; the API reference lists what there is.')
  }
}

const chosen = (
  routes: readonly Route[],
  method: string,
  params: Readonly<Record<string, string>>,
): Matched | Refusal => {
  const route = routes.find((one) => one.method === method)
  if (route) return { route, params }
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

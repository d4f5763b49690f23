/** The path of a request, and whether it is one that could mean two things to two readers. */
import { type Refusal, refuse } from '../core/refusal.ts'

/** Path and query of a request's URL, without parsing the rest of it. */
export const splitUrl = (url: string): { path: string; query: string } => {
  // Without a host, as HTTP/1.0 may be, it begins with the path.
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  if (start < 0) return { path: '/', query: '' }
  const mark = url.indexOf('?', start)
  return mark < 0
    ? { path: url.slice(start), query: '' }
    : { path: url.slice(start, mark), query: url.slice(mark + 1) }
}

/** The whole address a request came in under, also where it named no host. */
export const addressOf = ({ url }: Request): string => (url.startsWith('/') ? `http://localhost${url}` : url)

const AMBIGUOUS = /\/\/|\/\.{1,2}(?:\/|$)|;|\\|%(?:2e|5c|00|3b)/i

/** Refuses dot segments, empty segments, parameters and encoded separators: they are how a check and a route come apart. */
export const checkPath = (path: string): Refusal | undefined =>
  AMBIGUOUS.test(path)
    ? refuse('invalid_parameter', 'The path has empty or dot segments, or encoded separators.', {
        members: { param: 'path' },
      })
    : undefined

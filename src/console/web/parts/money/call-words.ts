/** What is said of a call in few words. */
import type { Shown } from '../api.ts'

type CallShown = Shown<'GET /calls'>['data'][number]

export const wordsOf = (name: string): string => name.replace(/_usd$/, '').replaceAll('_', ' ')

/** Why it was not answered: the status, the code, and what bound or was at fault. */
export const reasonOf = ({ http_status: status, code, limit, param }: CallShown): string => {
  const what = limit === null ? param : wordsOf(limit)
  return `${status ?? ''} ${wordsOf(code ?? '')}${what === null ? '' : `: ${what}`}`.trim()
}

export const seconds = (ms: number | null): string =>
  ms === null ? '—' : ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`

/** What each address takes beside the model, for the question "say hello". */
const bodies: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'Hello' }] },
  '/v1/responses': { input: 'Hello' },
  '/v1/messages': { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
  '/v1/embeddings': { input: 'Hello' },
}

/** A command that asks the same model again; what was asked is not known. Undefined where its form is not known either. */
export const askAgain = ({ endpoint, model, tokens }: CallShown, origin: string): string | undefined => {
  const isText = tokens.input !== undefined && tokens.output !== undefined
  const path = endpoint ?? (isText ? '/v1/chat/completions' : '')
  const body = bodies[path]
  if (model === null || body === undefined) return undefined
  return `curl ${origin}${path} \\
  -H "Authorization: Bearer $TURNPIKE_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify({ model, ...body })}'`
}

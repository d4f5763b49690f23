/** A chat through the gateway's own API, with a key: its text as it arrives, and its cost. */
import { gatewayAddress } from '../api.ts'

export type Turn = { readonly role: 'user' | 'assistant'; readonly content: string }
type ChatResult = { readonly requestId: string; readonly receipt: string | null }

const deltaOf = (line: string): string => {
  if (!line.startsWith('data: ') || line === 'data: [DONE]') return ''
  const value = JSON.parse(line.slice(6))
  if (value.error !== undefined) throw new Error(value.error.message)
  return value.choices?.[0]?.delta?.content ?? ''
}

/** Asks, and passes each new piece of the answer to `onText`. Rejects with the server's own words. */
export const streamChat = async (
  { key, model, turns, signal }: { key: string; model: string; turns: readonly Turn[]; signal: AbortSignal },
  onText: (piece: string) => void,
): Promise<ChatResult> => {
  const response = await fetch(`${gatewayAddress()}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: turns, stream: true }),
    signal,
  })
  if (!response.ok || response.body === null) {
    const value = await response.json().catch(() => undefined)
    throw new Error(value?.error?.message ?? `The server answered ${response.status}.`)
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const piece = deltaOf(line)
      if (piece !== '') onText(piece)
    }
  }
  return { requestId: response.headers.get('x-request-id') ?? '', receipt: response.headers.get('x-receipt') }
}

/** A chat through the gateway's own API: its text and its calls of tools as they arrive, and its times. */
import { gatewayAddress } from '../api.ts'
import { withPlayKey } from './play.ts'
import type { ChatBody } from './programs.ts'

type ToolCall = { readonly id: string; readonly name: string; readonly arguments: string }

/** What is known of an answer. */
export type Answer = {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly requestId?: string
  /** Until the first piece, and until the end. */
  readonly firstMs?: number
  readonly tookMs?: number
  readonly error?: string
}

export const noAnswer: Answer = { text: '', calls: [] }

type Delta = {
  readonly content?: string | null
  readonly tool_calls?: readonly {
    readonly index: number
    readonly id?: string
    readonly function?: { readonly name?: string; readonly arguments?: string }
  }[]
}

const deltaOf = (line: string): Delta => {
  if (!line.startsWith('data: ') || line === 'data: [DONE]') return {}
  const value = JSON.parse(line.slice(6))
  if (value.error !== undefined) throw new Error(value.error.message)
  return value.choices?.[0]?.delta ?? {}
}

/** The calls with another piece of one of them. */
const callsWith = (calls: readonly ToolCall[], { tool_calls: pieces = [] }: Delta): readonly ToolCall[] => {
  const all = [...calls]
  for (const { index, id, function: piece } of pieces) {
    const before = all[index] ?? { id: '', name: '', arguments: '' }
    all[index] = {
      id: id ?? before.id,
      name: piece?.name ?? before.name,
      arguments: before.arguments + (piece?.arguments ?? ''),
    }
  }
  return all
}

const linesOf = async function* (body: ReadableStream<Uint8Array<ArrayBuffer>>) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

/** Asks, and tells what is known of the answer each time that more is. What went wrong is told in the server's own words. */
export const streamChat = async (
  { body, signal }: { body: ChatBody; signal: AbortSignal },
  tell: (answer: Answer) => void,
): Promise<void> => {
  const startedMs = performance.now()
  const since = () => Math.round(performance.now() - startedMs)
  let answer = noAnswer
  const know = (more: Partial<Answer>) => {
    answer = { ...answer, ...more }
    tell(answer)
  }
  try {
    const response = await withPlayKey((token) =>
      fetch(`${gatewayAddress()}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, stream: true }),
        signal,
      }),
    )
    if (!response.ok || response.body === null) {
      const value = await response.json().catch(() => undefined)
      throw new Error(value?.error?.message ?? `The server answered ${response.status}.`)
    }
    for await (const line of linesOf(response.body)) {
      const delta = deltaOf(line)
      if ((delta.content ?? '') === '' && delta.tool_calls === undefined) continue
      know({
        text: answer.text + (delta.content ?? ''),
        calls: callsWith(answer.calls, delta),
        firstMs: answer.firstMs ?? since(),
      })
    }
    know({ requestId: response.headers.get('x-request-id') ?? '', tookMs: since() })
  } catch (error) {
    const gaveUp = error instanceof DOMException && error.name === 'AbortError'
    know({ error: gaveUp ? 'Stopped.' : error instanceof Error ? error.message : String(error) })
  }
}

/** A socket with odd headers and odd messages, which ends with a message that must be answered. */
import { isObject, parseJson } from '../../src/core/json-body.ts'
import { streamFrame } from '../../src/http/schema/calls.ts'
import { misfit } from '../server/answers.ts'
import { inTime } from './answer.ts'
import { changed, spoilt } from './odd-json.ts'
import type { Scene } from './scene.ts'
import { chatModels } from './vendors.ts'

const LAST = 'the last'

const terms = {
  'x-max-cost-usd': ['1', '-1', 'x'],
  'x-sub-wallet': ['x', 'sub_x'],
  'x-payment-protocol': ['mpp', 'wallet', 'x402', 'x'],
  'idempotency-key': ['x', 'x'.repeat(300)],
} as const

const headersFrom = ({ choose }: Scene, token: string): Record<string, string> => {
  const headers: Record<string, string> = {
    authorization: choose.rarely(12) ? 'Bearer x' : `Bearer ${token}`,
  }
  const names = Object.keys(terms) as (keyof typeof terms)[]
  if (!choose.rarely(3)) return headers
  const name = choose.one(names)
  return { ...headers, [name]: choose.one<string>(terms[name]) }
}

const messageFrom = ({ choose, known }: Scene, id: number) => {
  const message = {
    id,
    model: choose.one(chatModels),
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 20,
    ...(choose.rarely(5) ? { idempotency_key: `frame-${choose.below(3)}` } : {}),
    ...(choose.rarely(6) ? { sub_wallet: known.subWallets.at(-1) ?? null } : {}),
    ...(choose.rarely(6) ? { max_cost_usd: choose.one(['1', '0', 'x']) } : {}),
  }
  return choose.rarely(6) ? { type: 'cancel', id: choose.below(3) } : message
}

const oddMessage = (scene: Scene, id: number): string | Uint8Array => {
  const { choose } = scene
  let value: unknown = messageFrom(scene, id)
  for (let times = choose.below(3); times > 0; times--) value = changed(value as never, choose)
  const text = JSON.stringify(value)
  if (choose.rarely(12)) return Uint8Array.from({ length: 50 }, () => choose.below(256))
  return choose.rarely(5) ? spoilt(text, choose) : text
}

/** What is wrong with a frame. */
const wrongFrame = (text: string): string | undefined => {
  const frame = parseJson(text)
  if (!isObject(frame)) return `a frame is no object: ${text.slice(0, 300)}`
  const wrong = misfit(streamFrame, frame)
  if (wrong !== undefined) return `a frame does not fit the reference, ${wrong}: ${text.slice(0, 300)}`
  const code = isObject(frame.error) ? frame.error.code : undefined
  return code === 'internal_error' ? `a frame is an internal error: ${text.slice(0, 300)}` : undefined
}

/** Whether the frame ends the answer to a message. */
const isEnd = (text: string): boolean => {
  const frame = parseJson(text)
  return isObject(frame) && frame.type !== 'chunk'
}

/** Whether a message is answered: one that cancels another is not. */
const isAnswered = (message: string | Uint8Array): boolean => {
  const value = typeof message === 'string' ? parseJson(message) : undefined
  return !isObject(value) || value.type !== 'cancel'
}

/** Talks on its own socket; returns what was wrong. */
export const talkOnSocket = async (scene: Scene, token: string): Promise<string[]> => {
  const { choose, port, server } = scene
  const wrong: string[] = []
  const headers = headersFrom(scene, token)
  const messages = Array.from({ length: choose.below(4) }, (_, at) => oddMessage(scene, at))
  const last = {
    id: LAST,
    model: choose.one(chatModels),
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 9,
  }
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/stream`, { headers } as never)
  let open = messages.filter(isAnswered).length + 1
  const ended = new Promise<void>((resolve) => {
    socket.onclose = () => resolve()
    socket.onerror = () => resolve()
    socket.onmessage = ({ data }) => {
      const found = wrongFrame(String(data))
      if (found !== undefined) wrong.push(found)
      if (isEnd(String(data)) && --open === 0) resolve()
    }
  })
  socket.onopen = () => {
    for (const message of messages) socket.send(message as never)
    socket.send(JSON.stringify(last))
  }
  await inTime(ended, `the end of ${JSON.stringify(messages).slice(0, 1_000)}`)
  // What still runs ends by itself: a caller who hangs up would be charged for what came until then.
  while (server.openCalls() > 0) await Bun.sleep(1)
  socket.close()
  return wrong
}

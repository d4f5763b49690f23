/** A client of the WebSocket /v1/responses that sends turns and awaits their ends. */
import { until } from '../until.ts'

/** Opens a socket of responses as a client with this key. */
export const openResponses = async (
  { base, token }: { readonly base: string; readonly token: string },
  headers: Readonly<Record<string, string>> = {},
) => {
  const socket = new WebSocket(`ws://${base}/responses`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
  } as never)
  const events: any[] = []
  const closed = Promise.withResolvers<number>()
  socket.onclose = ({ code }) => closed.resolve(code)
  socket.onmessage = ({ data }) => events.push(JSON.parse(String(data)))
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve()
    socket.onerror = () => reject(new Error('refused'))
  })
  const isEnd = ({ type }: any) => /^(?:error|response\.(?:completed|incomplete|failed))$/.test(type)
  const send = (message: object) => socket.send(JSON.stringify(message))
  /** The event that ends the next request that has not been awaited. */
  let seen = 0
  const end = async (): Promise<any> => {
    await until(() => events.filter(isEnd).length > seen, 2)
    return events.filter(isEnd)[seen++]
  }
  const turn = (more: object) => {
    send({ type: 'response.create', model: 'mock/small', ...more })
    return end()
  }
  return { socket, events, closed: closed.promise, send, end, turn }
}

/**
 * A vendor of the responses dialect with a WebSocket of its own, strict about what its guide says: one response at a time,
 * and a response continues only the one that was completed last on the same socket. It answers over HTTP as well.
 */
import { messageItem, response, responseEvents } from '../dialects/responses-vendor.ts'

type Peer = Bun.ServerWebSocket<{ readonly number: number; readonly key: string | null }>

/** A turn as the vendor got it, and how it is answered. */
export type VendorTurn = {
  readonly socket: number
  readonly key: string | null
  readonly message: any
  /** All items of the conversation as the vendor knows it. */
  readonly heard: readonly any[]
  /** The events of its answer. */
  readonly events: readonly any[]
  send(event: object): void
  close(code?: number): void
  /** Sends the answer from this event on. */
  answer(from?: number): void
}

const dataOf = (event: string) => JSON.parse(event.slice(event.indexOf('data: ') + 'data: '.length))
const listed = (input: any): readonly any[] =>
  typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input

export const forgotten = (id: string) => ({
  type: 'error',
  status: 400,
  error: {
    type: 'invalid_request_error',
    code: 'previous_response_not_found',
    message: `Previous response with id '${id}' not found.`,
    param: 'previous_response_id',
  },
})

export const startSocketVendor = () => {
  const turns: VendorTurn[] = []
  const posts: any[] = []
  const closed: number[] = []
  /** What no client may do. */
  const wrong: string[] = []
  let upgrades = 0
  let refuses = false
  let made = 0
  let eventsPosted: number | undefined
  let behave = (turn: VendorTurn): unknown => turn.answer()
  /** What each socket remembers, and whether it answers now. */
  const memory = new Map<number, { id: string; items: readonly any[] }>()
  const running = new Set<number>()

  const next = () => {
    const n = ++made
    return response([messageItem(`word ${n}`, `msg_${n}`)], { id: `resp_${n}` })
  }
  const take = (peer: Peer, text: string | Buffer): void => {
    const { number, key } = peer.data
    const message = JSON.parse(String(text))
    const { type, previous_response_id: previous, input, store } = message
    if (running.has(number)) wrong.push('a turn while another one runs')
    if (type !== 'response.create') wrong.push(`type ${type}`)
    if ('stream' in message || 'background' in message) wrong.push('a member of HTTP')
    if (store !== false) wrong.push('it may be stored')
    const known = memory.get(number)
    memory.delete(number)
    const send = (event: object) => void peer.send(JSON.stringify(event))
    if (previous !== undefined && previous !== known?.id) {
      send(forgotten(previous))
      return
    }
    running.add(number)
    const heard = [...(previous === undefined ? [] : (known?.items ?? [])), ...listed(input)]
    const whole = { ...next(), previous_response_id: previous ?? null }
    const events = responseEvents(whole).map(dataOf)
    const turn: VendorTurn = {
      socket: number,
      key,
      message,
      heard,
      events,
      send: (event: any) => {
        if (/^(?:error|response\.(?:completed|incomplete|failed))$/.test(event.type)) running.delete(number)
        if (event.type === 'response.completed')
          memory.set(number, { id: event.response.id, items: [...heard, ...event.response.output] })
        send(event)
      },
      close: (code) => peer.close(code),
      answer: (from = 0) => {
        for (const event of events.slice(from)) turn.send(event)
      },
    }
    turns.push(turn)
    behave(turn)
  }
  const server = Bun.serve<Peer['data']>({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request, serving) => {
      if (request.headers.get('upgrade') !== null) {
        upgrades++
        const data = { number: upgrades, key: request.headers.get('authorization') }
        if (!refuses && serving.upgrade(request, { data })) return undefined
        return new Response('no', { status: 403 })
      }
      posts.push(await request.json())
      return new Response(responseEvents(next()).slice(0, eventsPosted).join(''), {
        headers: { 'content-type': 'text/event-stream' },
      })
    },
    websocket: {
      message: take,
      close: (peer, code) => {
        running.delete(peer.data.number)
        closed.push(code)
      },
    },
  })
  return {
    turns,
    posts,
    closed,
    wrong,
    baseUrl: `http://127.0.0.1:${server.port}/v1`,
    upgrades: () => upgrades,
    refuseUpgrades: () => {
      refuses = true
    },
    /** Answers over HTTP break off after so many events. */
    cutPosts: (events: number) => {
      eventsPosted = events
    },
    /** How turns are answered from now on. */
    behaveAs: (how: (turn: VendorTurn) => unknown) => {
      behave = how
    },
    stop: () => server.stop(true),
  }
}

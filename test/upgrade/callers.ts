/** Callers of several processes at once: whole answers and streams, each recorded with its expected cost. */

import { INPUT_NANO, OUTPUT_NANO } from '../chaos/gateways.ts'
import { arrival, costOf, dueOf } from '../chaos/load.ts'
import type { Order } from '../chaos/upstream.ts'

/** A process that takes calls. */
export type Place = {
  readonly address: string
  readonly name: string
  open: number
  answers: number
  killed: boolean
}

export type Answered = { readonly callId: string; readonly order: Order; readonly cost: bigint | undefined }

export type Callers = {
  readonly answered: readonly Answered[]
  /** Orders whose answer did not come because their process was killed, with the most that each may be charged. */
  readonly cutOff: ReadonlyMap<string, bigint>
  /** Orders that a process refused, because it was leaving or the ledger was late; they were sent again as others. */
  readonly refused: ReadonlyMap<string, bigint>
  /** Events that must not happen. */
  readonly lost: readonly string[]
  stop(): Promise<void>
}

const AT_ONCE = 8
/** Tokens that bound the input of a call, beside those of its body's bytes. */
const BESIDE_TOKENS = 200

/** Calls the present `places`, in turns, until it is stopped. */
export const startCallers = (places: readonly Place[], token: string): Callers => {
  const answered: Answered[] = []
  const cutOff = new Map<string, bigint>()
  const refused = new Map<string, bigint>()
  const lost: string[] = []
  let running = true
  let turn = 0

  const ask = async (place: Place, stream: boolean, order: Order): Promise<void> => {
    const messages = [{ role: 'user', content: JSON.stringify(order) }]
    const body = JSON.stringify({ model: 'mock/m', stream, max_tokens: order.output, messages })
    const most = BigInt(body.length + BESIDE_TOKENS) * INPUT_NANO + BigInt(order.output) * OUTPUT_NANO
    try {
      const response = await fetch(`${place.address}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body,
        keepalive: false,
      })
      const text = await response.text()
      if (response.status === 503 && response.headers.has('retry-after')) {
        refused.set(order.id, most)
        await Bun.sleep(20)
        return
      }
      const { complete, strayed } = arrival(order, stream, response, text)
      const cost = costOf(stream, response, text)
      if (!complete || strayed !== undefined || cost !== dueOf(order))
        throw new Error(`${response.status} ${strayed ?? text.slice(-300)}`)
      answered.push({ callId: response.headers.get('x-request-id') ?? '', order, cost })
      place.answers++
    } catch (error) {
      if (place.killed) cutOff.set(order.id, most)
      else lost.push(`${place.name}: ${error}`)
    }
  }
  const work = async (): Promise<void> => {
    while (running) {
      const number = turn++
      const place = places[number % places.length]
      if (place === undefined) throw new Error('no process takes calls')
      const order: Order = {
        id: crypto.randomUUID(),
        input: 1 + (number % 60),
        output: 1 + (number % 97),
        delayMs: 40 + (number % 7) * 30,
        fail: '',
      }
      place.open++
      await ask(place, number % 3 > 0, order)
      place.open--
    }
  }
  const workers = Array.from({ length: AT_ONCE }, work)
  return {
    answered,
    cutOff,
    refused,
    lost,
    stop: async () => {
      running = false
      await Promise.all(workers)
    },
  }
}

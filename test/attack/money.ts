/** Attacks on money at the edges: calls whose end nobody waits for, vendors that break off, requests that are refused. */
import { type Check, chat, echo, must } from './check.ts'
import type { Target } from './target.ts'

const cheap = { cpuMs: 2_000, memoryMb: 120 } as const
const REFUSED = 50

/** What the operator's key and those below it used so far. */
const used = async (it: Target): Promise<{ readonly requests: number; readonly cost_usd: number }> => {
  const answer = (await (await it.ask('/v1/usage')).json()) as {
    data: { total: { requests: number; cost_usd: number } }
  }
  return answer.data.total
}

/** Waits until one call more was charged, and wants a price for it. */
const charged = async (it: Target, before: Awaited<ReturnType<typeof used>>): Promise<void> => {
  let now = await used(it)
  for (; now.requests === before.requests; now = await used(it)) await Bun.sleep(50)
  must(now.requests === before.requests + 1, `${now.requests - before.requests} calls were charged`)
  must(now.cost_usd > before.cost_usd, 'it was free')
}

const stream = (model: string) => ({ ...echo('a question of some words', { stream: true }), model })

export const money: readonly Check[] = [
  {
    name: 'a caller that hangs up before the first word',
    run: async (it) => {
      const before = await used(it)
      const body = JSON.stringify(stream('hostile/mute'))
      const head = `POST ${chat} HTTP/1.1\r\nHost: x\r\n${it.auth}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
      const asked = it.asked('mute')
      const socket = await it.hang(head + body)
      await asked
      socket.destroy()
      await charged(it, before)
    },
    ...cheap,
  },
  {
    name: 'a vendor that breaks off in the middle of an answer',
    run: async (it) => {
      const before = await used(it)
      const text = await (await it.ask(chat, stream('hostile/broken'))).text()
      must(text.includes('error'), `the caller reads ${text.slice(-200)}`)
      await charged(it, before)
    },
    ...cheap,
  },
  {
    name: `${REFUSED} requests that are refused are in no report`,
    run: async (it) => {
      const before = await used(it)
      for (let count = 0; count < REFUSED; count++) {
        const body = count % 2 === 0 ? { ...echo('x'), model: 'no/such' } : { ...echo('x'), n: -1 }
        const response = await it.ask(chat, body)
        await response.text()
        must(response.status >= 400 && response.status < 500, `answered ${response.status}`)
      }
      const now = await used(it)
      must(now.requests === before.requests, `${now.requests - before.requests} rows were written`)
    },
    ...cheap,
  },
]

/**
 * A scripted vendor of jobs that speaks every vendor's form over HTTP: with delays, answers that break off, forgotten
 * jobs, refusals and late calls back. And the web that has the results: whole, endless, or leading inwards.
 */
import type { VendorFetch } from '../src/vendors/setup.ts'
import type { Script } from './scripted-answers.ts'
import { mp4Head, png, startWeb, type Web } from './server/asset-rig.ts'
import type { Reply } from './vendor-media.ts'

/** The state of a job from now on. */
export type Standing = 'pending' | 'done' | 'blocked' | 'failed' | 'gone' | 'cut' | 'nonsense'
/** How a submission is received. */
export type Reception = 'taken' | 'bad' | 'rate' | 'no credits' | 'refused key' | 'cut'
/** The content at the address of a result. */
export type WebContent = 'whole' | 'missing' | 'endless' | 'inward' | 'too large' | 'a page'

export type VendorRequest = {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly text: string
}

export type ScriptedVendor = {
  readonly fetch: VendorFetch
  readonly web: Web
  readonly heard: readonly VendorRequest[]
  /** Requests to the web, with their headers. */
  readonly fetched: readonly VendorRequest[]
  speak(script: Script, as?: Partial<Manner>): void
  stop(): void
}

type Manner = {
  readonly standing: Standing
  readonly reception: Reception
  readonly found: WebContent
  /** Polls that say `pending` before. */
  readonly pendings: number
  readonly delayMs: number
}

const USUAL: Manner = { standing: 'done', reception: 'taken', found: 'whole', pendings: 0, delayMs: 0 }

const PICTURE = png(8, 8)
const FILM = Buffer.concat([mp4Head, Buffer.alloc(200)])

const bytesOf = ({ json, text = '' }: Reply): Uint8Array =>
  text === '<picture>' ? PICTURE : Buffer.from(json === undefined ? text : JSON.stringify(json))

const responseOf = (reply: Reply): Response =>
  new Response(bytesOf(reply), {
    status: reply.status ?? 200,
    headers: {
      ...(reply.json === undefined ? {} : { 'content-type': 'application/json' }),
      ...reply.headers,
    },
  })

/** A mark: the next answer breaks off. */
const cutOff = (): Response => new Response(null, { headers: { 'x-cut': 'yes' } })

/** A server that sends half of an answer and hangs up. */
const startCutter = () =>
  Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data: (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{"id":')
        socket.end()
      },
    },
  })

const refusals: Readonly<Record<Exclude<Reception, 'taken' | 'cut'>, Reply>> = {
  bad: { status: 400, json: { error: { message: 'the prompt is no good' }, message: 'no', detail: 'no' } },
  rate: { status: 429, json: { detail: 'slow down' } },
  'no credits': { status: 402, json: { detail: 'no credits' } },
  'refused key': { status: 401, json: { detail: 'no' } },
}

const endless = (): Response =>
  new Response(
    new ReadableStream({
      start: (stream) => stream.enqueue(PICTURE),
      pull: (stream) => stream.enqueue(new Uint8Array(1 << 20)),
    }),
    { headers: { 'content-type': 'image/png' } },
  )

const foundAt = (path: string, found: WebContent): Response => {
  switch (found) {
    case 'missing':
      return new Response('gone', { status: 404 })
    case 'inward':
      return new Response(null, { status: 302, headers: { location: 'https://inside.example.com/secret' } })
    case 'endless':
      return endless()
    case 'too large':
      return new Response(null, {
        headers: { 'content-length': String(2 ** 31), 'content-type': 'video/mp4' },
      })
    case 'a page':
      return new Response('<html><script>alert(1)</script>', { headers: { 'content-type': 'video/mp4' } })
    default:
      return new Response(path.endsWith('.png') ? PICTURE : FILM)
  }
}

export const startScriptedVendor = (): ScriptedVendor => {
  const heard: VendorRequest[] = []
  const fetched: VendorRequest[] = []
  let script: Script | undefined
  let manner = USUAL
  let cancelled = false
  let polls = 0

  const submission = (taken: Reply): Response => {
    const { reception } = manner
    if (reception === 'taken') return responseOf(taken)
    return reception === 'cut' ? cutOff() : responseOf(refusals[reception])
  }

  const standing = (of: Script): Response => {
    if (cancelled && of.cancel !== undefined) return responseOf(of.cancel.said)
    if (++polls <= manner.pendings) return responseOf(of.pending)
    switch (manner.standing) {
      case 'gone':
        return responseOf({ status: 404, json: { detail: 'not found' } })
      case 'cut':
        return cutOff()
      case 'nonsense':
        return responseOf({ json: { hello: 1 } })
      case 'blocked':
        return responseOf(of.blocked ?? of.failed)
      default:
        return responseOf(of[manner.standing])
    }
  }

  const answer = (one: VendorRequest): Response => {
    if (script === undefined) return new Response('silent', { status: 500 })
    const of = script
    const { pathname, search } = new URL(one.url)
    if (of.cancel !== undefined && one.method === of.cancel.method && of.cancel.path.test(pathname)) {
      cancelled = true
      return new Response(null, { status: 204 })
    }
    const asked = `${one.method} ${pathname}${search}`
    const step = of.steps?.find(({ asked: pattern }) => matches(pattern, asked, manner.standing))
    if (step !== undefined) return responseOf(step.said)
    return one.method === 'POST' ? submission(of.taken) : standing(of)
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const url = request.headers.get('x-meant') ?? request.url
      const { method, headers } = request
      const one = { method, url, headers, text: await request.text() }
      heard.push(one)
      if (manner.delayMs > 0) await Bun.sleep(manner.delayMs)
      return answer(one)
    },
  })
  const cutter = startCutter()
  const web = startWeb((path) => foundAt(path, manner.found))
  return {
    heard,
    fetched,
    web: {
      ...web,
      fetch: (url, init) => {
        fetched.push({ method: 'GET', url, headers: new Headers(init.headers as never), text: '' })
        return web.fetch(url, init)
      },
    },
    fetch: async (url, init) => {
      const headers = new Headers(init.headers)
      headers.set('x-meant', url)
      const { pathname, search } = new URL(url)
      const said = await fetch(`http://127.0.0.1:${server.port}${pathname}${search}`, { ...init, headers })
      return said.headers.has('x-cut') ? fetch(`http://127.0.0.1:${cutter.port}/`) : said
    },
    speak: (next, as = {}) => {
      script = next
      manner = { ...USUAL, ...as }
      cancelled = false
      polls = 0
      heard.length = 0
      fetched.length = 0
    },
    stop: () => {
      void server.stop(true)
      cutter.stop(true)
      web.stop()
    },
  }
}

/** A pattern may name the state behind `$`, if a further exchange depends on it. */
const matches = (pattern: RegExp, asked: string, standing: Standing): boolean => {
  const [path = '', when] = pattern.source.split('$ ')
  return when === undefined ? pattern.test(asked) : when === standing && new RegExp(`${path}$`).test(asked)
}

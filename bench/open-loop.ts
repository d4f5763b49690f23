/**
 * An open loop: it sends calls at a fixed rate, whether or not earlier ones have ended, like many callers who do not
 * know of each other. It writes to plain sockets, so that one process can offer several times what a server can do.
 */
import type { Socket } from 'bun'

export type Offer = {
  readonly port: number
  readonly path: string
  /** Headers of the callers, who take turns. */
  readonly callers: readonly Record<string, string>[]
  readonly body: string
  /** Calls a second, read again all the time. */
  readonly rate: () => number
  readonly seconds: number
  /** The most connections it opens; calls that find none wait, and their time runs. */
  readonly connections: number
}

export type Ended = {
  readonly status: number
  /** From when the call was due to the first and the last byte of its answer, and when it was due. */
  readonly firstMs: number
  readonly totalMs: number
  readonly dueMs: number
}

type Line = { dueMs: number; firstAt: number; status: number; left: number; tail: string }

/**
 * Sends until the time is up, then waits `patienceMs` for what is open. Reports each call that ended, and how many were
 * sent.
 */
export const offer = async (
  it: Offer,
  patienceMs: number,
): Promise<{ readonly sent: number; readonly ended: readonly Ended[] }> => {
  const requests = it.callers.map((headers) => requestOf(it, headers))
  const ended: Ended[] = []
  const idle: Socket<Line>[] = []
  const all = new Set<Socket<Line>>()
  let opening = 0
  const started = performance.now()
  const now = () => performance.now() - started
  const data = (socket: Socket<Line>, bytes: Buffer): void => {
    const line = socket.data
    if (line.status === 0) {
      line.status = Number(bytes.toString('latin1', 9, 12))
      line.firstAt = now()
    }
    if (!isWhole(line, bytes)) return
    const { dueMs, firstAt, status } = line
    ended.push({ status, dueMs, firstMs: firstAt - dueMs, totalMs: now() - dueMs })
    idle.push(socket)
  }
  const gone = (socket: Socket<Line>): void => {
    all.delete(socket)
    const at = idle.indexOf(socket)
    if (at >= 0) idle.splice(at, 1)
  }
  const open = (): void => {
    opening++
    void Bun.connect<Line>({
      hostname: '127.0.0.1',
      port: it.port,
      data: { dueMs: 0, firstAt: 0, status: 0, left: 0, tail: '' },
      socket: { data, close: gone, error: gone },
    }).then(
      (socket) => {
        opening--
        socket.setNoDelay(true)
        all.add(socket)
        idle.push(socket)
      },
      () => opening--,
    )
  }
  let sent = 0
  let due = 0
  let beforeMs = 0
  for (; now() < it.seconds * 1000; await Bun.sleep(1)) {
    const nowMs = now()
    const rate = it.rate()
    due += ((nowMs - beforeMs) / 1000) * rate
    beforeMs = nowMs
    while (sent + 1 <= due) {
      const socket = idle.pop()
      if (socket === undefined) break
      Object.assign(socket.data, {
        dueMs: nowMs - ((due - sent) / rate) * 1000,
        firstAt: 0,
        status: 0,
        left: -1,
        tail: '',
      })
      socket.write(requests[sent % requests.length] ?? '')
      sent++
    }
    const lacking = Math.min(Math.floor(due) - sent, it.connections - all.size - opening)
    for (let more = opening; more < lacking; more++) open()
  }
  for (const until = now() + patienceMs; now() < until && idle.length < all.size; ) await Bun.sleep(10)
  for (const socket of all) socket.end()
  return { sent, ended }
}

const requestOf = ({ path, body, port }: Offer, headers: Record<string, string>): Buffer => {
  const all = {
    host: `127.0.0.1:${port}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}

/** Whether the answer has come to its end; `left` is -1 before its head, -2 in a body of chunks. */
const isWhole = (line: Line, bytes: Buffer): boolean => {
  let body = bytes.length
  if (line.left === -1) {
    const head = bytes.indexOf('\r\n\r\n')
    const length = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, head))?.[1]
    line.left = length === undefined ? -2 : Number(length)
    body = bytes.length - head - 4
  }
  if (line.left >= 0) {
    line.left -= body
    return line.left <= 0
  }
  line.tail = (line.tail + bytes.toString('latin1', Math.max(0, bytes.length - 5))).slice(-5)
  return line.tail === '0\r\n\r\n'
}

/**
 * What a pooler of transactions does to its clients, for machines without pgBouncer: settings of a connection are refused
 * or left out, and after each transaction the server forgets all that the session had: settings, prepared statements.
 */
import { connect, createServer, type Socket } from 'node:net'
import { messagesOf } from './messages.ts'

const STARTUP = 196_608
const [QUERY, READY, IDLE] = ['Q', 'Z', 'I']

const framed = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head.write(type, 0, 'latin1')
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const text = (words: string): Buffer => Buffer.from(`${words}\0`)

/** What such a pooler answers to a setting that it does not know. */
const refusal = (name: string): Buffer =>
  framed(
    'E',
    Buffer.concat([
      text('SFATAL'),
      text('VFATAL'),
      text('C08P01'),
      text(`Munsupported startup parameter: ${name}`),
      Buffer.from([0]),
    ]),
  )

/** The parameters that such a pooler passes on, and the first one that it does not know. */
const startupOf = (bytes: Buffer) => {
  const words = bytes.subarray(8, bytes.readUInt32BE(0)).toString().split('\0')
  const pairs = words.flatMap((name, at): [string, string][] =>
    at % 2 === 0 && name !== '' ? [[name, words[at + 1] ?? '']] : [],
  )
  const knows = ([name]: [string, string]) =>
    ['user', 'database', 'application_name', 'client_encoding', 'DateStyle', 'TimeZone'].includes(name)
  const kept = pairs.filter(knows).flatMap(([name, value]) => [text(name), text(value)])
  const body = Buffer.concat([...kept, Buffer.from([0])])
  const head = Buffer.alloc(8)
  head.writeUInt32BE(body.length + 8, 0)
  head.writeUInt32BE(STARTUP, 4)
  return {
    unknown: pairs.find((pair) => !knows(pair))?.[0],
    message: Buffer.concat([head, body]),
  }
}

/** One client with its server: its messages go on, one question at a time, and the session is reset in between. */
const serve = (client: Socket, target: URL, refuses: boolean, counts: { resets: number }): void => {
  const server = connect(Number(target.port || 5432), target.hostname)
  const end = () => {
    client.destroy()
    server.destroy()
  }
  for (const socket of [client, server]) socket.on('error', end).on('close', end)
  const questions: Buffer[] = []
  let pending: Buffer[] = []
  let [begun, free, resetting] = [false, false, false]
  const goOn = (): void => {
    const next = free ? questions.shift() : undefined
    if (next === undefined) return
    free = false
    server.write(next)
  }
  const fromServer = messagesOf((type, message) => {
    if (!resetting) client.write(message)
    if (type !== READY) return
    if (!resetting && begun && String.fromCharCode(message[5] ?? 0) === IDLE) {
      resetting = true
      counts.resets++
      server.write(framed(QUERY, text('DISCARD ALL')))
      return
    }
    ;[begun, free, resetting] = [true, true, false]
    goOn()
  })
  const fromClient = messagesOf((type, message) => {
    pending.push(message)
    // Until it is ready, the client answers what the server asks for its password.
    if (!begun) server.write(Buffer.concat(pending.splice(0)))
    else if (type === QUERY || type === 'S' || type === 'X') {
      questions.push(Buffer.concat(pending))
      pending = []
      goOn()
    }
  })
  server.on('data', fromServer)
  client.once('data', (bytes: Buffer) => {
    const { unknown, message } = startupOf(bytes)
    if (refuses && unknown !== undefined) return client.end(refusal(unknown))
    server.write(message)
    client.on('data', fromClient)
  })
}

/** `refuses`: settings that it does not know; else they are left out. */
export const resettingPooler = async (
  url: string,
  refuses: boolean,
): Promise<{ readonly url: string; readonly resets: () => number; readonly stop: () => void }> => {
  const target = new URL(url)
  const counts = { resets: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    sockets.add(client)
    serve(client, target, refuses, counts)
  })
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const at = server.address()
      resolve(typeof at === 'object' && at !== null ? at.port : 0)
    })
  })
  const own = new URL(url)
  own.hostname = '127.0.0.1'
  own.port = String(port)
  return {
    url: own.href,
    resets: () => counts.resets,
    stop: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/**
 * A standby by its protocol: it takes the log of a PostgreSQL and confirms all that it gets, so that commits which wait for
 * a standby end. Source: the manual's chapter on the streaming replication protocol.
 */
import { connect } from 'node:net'
import { messagesOf } from './messages.ts'

const REPLICATION = 196_608

const framed = (type: string, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(4)
  head.writeUInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), head, body])
}

const words = (...texts: string[]): Buffer => Buffer.from(texts.map((text) => `${text}\0`).join(''))

/** What says that everything up to there is written, synced and applied. */
const confirmation = (upTo: bigint): Buffer => {
  const body = Buffer.alloc(34)
  body.write('r')
  for (const at of [1, 9, 17]) body.writeBigUInt64BE(upTo, at)
  return framed('d', body)
}

/** The end of what a message of the log carries. */
const endOf = (body: Buffer): bigint =>
  body[0] === 'w'.charCodeAt(0) ? body.readBigUInt64BE(1) + BigInt(body.length - 25) : body.readBigUInt64BE(1)

/** Connects to that server; resolves when it streams. */
export const startStandby = async (url: string): Promise<{ readonly stop: () => void }> => {
  const { hostname, port, username, password } = new URL(url)
  const socket = connect(Number(port || 5432), hostname)
  const streams = Promise.withResolvers<void>()
  socket.on('error', streams.reject)
  const ask = (query: string) => socket.write(framed('Q', words(query)))
  let from = ''
  let upTo = 0n
  const take = messagesOf((type, message) => {
    const body = message.subarray(5)
    if (type === 'R' && body.readUInt32BE(0) === 3) socket.write(framed('p', words(password)))
    // The second of the row's columns is the length of the log.
    if (type === 'D') from = /[0-9A-F]+\/[0-9A-F]+/.exec(body.toString('latin1'))?.[0] ?? from
    if (type === 'Z') ask(from === '' ? 'IDENTIFY_SYSTEM' : `START_REPLICATION PHYSICAL ${from}`)
    if (type === 'W') streams.resolve()
    if (type === 'E') streams.reject(new Error(body.toString().replaceAll('\0', ' ')))
    if (type !== 'd') return
    const end = endOf(body)
    if (end > upTo) upTo = end
    socket.write(confirmation(upTo))
  })
  socket.on('data', take)
  const startup = words('user', username, 'replication', 'true', 'application_name', 'standby', '')
  const head = Buffer.alloc(8)
  head.writeUInt32BE(startup.length + 8, 0)
  head.writeUInt32BE(REPLICATION, 4)
  socket.write(Buffer.concat([head, startup]))
  await streams.promise
  return { stop: () => socket.destroy() }
}

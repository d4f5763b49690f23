/**
 * Nudges between the processes of one machine: a loopback datagram that says "there is news". Losing one only costs
 * time.
 */
import type { Nudge } from './heartbeat.ts'

const NEWS = new Uint8Array([1])

/** Opens a socket on a free loopback port. */
export const openNudge = async (): Promise<Nudge> => {
  let listener: () => void = () => undefined
  const socket = await Bun.udpSocket({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: () => listener(), error: ignore },
  })
  socket.unref()
  const sendTo = (port: number): void => {
    try {
      socket.send(NEWS, port, '127.0.0.1')
    } catch {
      // The process that listened there is gone; it admits nothing.
    }
  }
  const own = `127.0.0.1:${socket.port}`
  return {
    address: own,
    notify: (addresses) => {
      for (const address of addresses) {
        const port = /^127\.0\.0\.1:(\d{1,5})$/.exec(address)?.[1]
        if (port !== undefined && address !== own) sendTo(Number.parseInt(port, 10))
      }
    },
    onNotified: (notified) => {
      listener = notified
    },
  }
}

/** A datagram to a process that has ended comes back as an error of the socket. */
const ignore = (): void => undefined

/** A TCP proxy on loopback that can delay, stall, reset, cut after some bytes, or lose one direction. */
import { createConnection, createServer, type Socket } from 'node:net'

export type Fault = 'none' | 'latency' | 'stall' | 'reset' | 'cut' | 'one way'
export const faults: readonly Fault[] = ['latency', 'stall', 'reset', 'cut', 'one way']

export type FaultProxy = { readonly port: number; set(fault: Fault): void; stop(): void }

const LATENCY_MS = 120

export const startProxy = async (targetPort: number): Promise<FaultProxy> => {
  let fault: Fault = 'none'
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = createConnection({ port: targetPort, host: '127.0.0.1' })
    const end = () => {
      near.destroy()
      far.destroy()
    }
    for (const [from, to, isAnswer] of [
      [near, far, false],
      [far, near, true],
    ] as const) {
      sockets.add(from)
      let passed = 0
      const late: { readonly bytes: string | Uint8Array; readonly dueMs: number }[] = []
      const sendDue = (): void => {
        for (;;) {
          const [first] = late
          if (first === undefined) return
          const waitMs = first.dueMs - performance.now()
          if (waitMs > 0) return void setTimeout(sendDue, waitMs)
          late.shift()
          if (to.writable) to.write(first.bytes)
        }
      }
      /**
       * In order, even when the latency ends while bytes are late: a wire does not shuffle, and separate timers would.
       */
      const send = (bytes: string | Uint8Array): void => {
        const dueMs = performance.now() + (fault === 'latency' ? LATENCY_MS : 0)
        late.push({ bytes, dueMs })
        if (late.length === 1) sendDue()
      }
      from.setNoDelay(true)
      from.on('error', end)
      from.on('close', () => {
        sockets.delete(from)
        end()
      })
      from.on('data', (bytes) => {
        passed += bytes.length
        if (fault === 'reset' || (fault === 'cut' && passed > 2_000)) return end()
        if (fault === 'stall' || (fault === 'one way' && isAnswer)) return void from.pause()
        send(bytes)
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    port: address.port,
    set: (next) => {
      const stuck = fault === 'stall' || fault === 'one way'
      fault = next
      if (next === 'reset' || (stuck && next === 'none')) for (const socket of sockets) socket.destroy()
    },
    stop: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

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
        if (fault === 'latency') setTimeout(() => to.writable && to.write(bytes), LATENCY_MS)
        else if (to.writable) to.write(bytes)
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

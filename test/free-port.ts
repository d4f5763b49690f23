/** Ports for the servers of tests. */
import { createServer } from 'node:net'

/** Below the ports that systems give to connections and to servers without a port of their own. */
const [PORTS_FROM, PORTS] = [20_000, 12_000]
const PORTS_EACH = 16
let portsAsked = 0

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })

/** A free port of this machine that nobody else gets before it is taken: each process of the tests begins at others. */
export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < PORTS; tries++) {
    const port = PORTS_FROM + ((process.pid * PORTS_EACH + portsAsked++) % PORTS)
    if (await isFree(port)) return port
  }
  throw new Error('no free port')
}

/** Opening a port. What fails names the address and the settings it is from. */
import { messageOf } from '../../core/message-of.ts'

type Address = { readonly hostname: string; readonly port: number; readonly settings: string }

const reasons: Readonly<Record<string, string>> = {
  // The runtime says the same of a name that is not known.
  EADDRINUSE: 'another program listens there, or the name is not known',
  EADDRNOTAVAIL: 'it is no address of this machine',
  EACCES: 'this user may not use the port',
}

/** The open server. Throws when the address cannot be had. */
export const bind = <T>({ hostname, port, settings }: Address, open: () => T): T => {
  try {
    return open()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const place = `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`
    throw new Error(`cannot listen on ${place} (${settings}): ${reasons[code] ?? messageOf(error)}`)
  }
}

/** Where this machine reaches a server. */
import { serverSettings } from '../../settings/server.ts'
import { readSettings } from '../../settings/setting.ts'

/** The address of one that listens there: all addresses of a machine are none that a browser opens everywhere. */
export const addressAt = (host: string, port: number | undefined, tls = false): string => {
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http${tls ? 's' : ''}://${reached.includes(':') ? `[${reached}]` : reached}:${port}`
}

/** For a request to that address: the certificate is for the server's name, which is another. */
export const toOwn = { tls: { rejectUnauthorized: false } } as const

/** The address of one with the present settings. */
export const ownAddress = (): string => {
  const { host, port, tls } = serverSettings
  const own = readSettings({ host, port, cert: tls.cert }, process.env)
  return addressAt(own.host, own.port, own.cert !== undefined)
}

/** Where this machine reaches a server with the present settings. */
import { serverSettings } from '../settings/server.ts'
import { readSettings } from '../settings/setting.ts'

export const ownAddress = (): string => {
  const { host, port } = readSettings({ host: serverSettings.host, port: serverSettings.port }, process.env)
  return `http://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host}:${port}`
}

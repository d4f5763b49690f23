/** The files of TLS_CERT, TLS_KEY and TLS_CLIENT_CA: read whole, and only taken if certificate and key belong together. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { messageOf } from '../../core/message-of.ts'
import type { Tls } from '../../http/listen/edge.ts'
import { bad } from '../../settings/bad-setting.ts'

type TlsFiles = {
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly clientCa?: string | undefined
}

const textOf = (name: string, path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    return bad(`${name} names '${path}', which cannot be read: ${messageOf(error)}`)
  }
}

/** Undefined without TLS. Throws BadSetting. */
export const readTls = ({ cert, key, clientCa }: TlsFiles): Tls | undefined => {
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined
  if (cert === undefined || key === undefined)
    return bad('TLS_CERT and TLS_KEY go together, and TLS_CLIENT_CA needs both')
  const tls = {
    cert: textOf('TLS_CERT', cert),
    key: textOf('TLS_KEY', key),
    ...(clientCa === undefined ? {} : { clientCa: textOf('TLS_CLIENT_CA', clientCa) }),
  }
  try {
    if (tls.clientCa !== undefined) new X509Certificate(tls.clientCa)
    if (new X509Certificate(tls.cert).checkPrivateKey(createPrivateKey(tls.key))) return tls
  } catch (error) {
    return bad(`TLS_CERT, TLS_KEY or TLS_CLIENT_CA is no PEM of its kind: ${messageOf(error)}`)
  }
  return bad('TLS_KEY is not the key of the certificate in TLS_CERT')
}

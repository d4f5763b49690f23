/** The edge of a listener: its certificate, whose certificates it asks for, and from which addresses it takes connections. */
import { type AddressBlock, isWithin, readAddress } from '../../core/address.ts'

/** Texts of PEM files. */
export type Tls = {
  readonly cert: string
  readonly key: string
  /** Only callers with a certificate of this authority connect. */
  readonly clientCa?: string | undefined
}

/** What the runtime takes; empty without TLS. */
export const tlsOptions = (tls: Tls | undefined) =>
  tls === undefined
    ? {}
    : {
        tls: {
          cert: tls.cert,
          key: tls.key,
          ...(tls.clientCa === undefined
            ? {}
            : { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true }),
        },
      }

/** Whether the other end of a connection is in one of the blocks; what cannot be read is in none. */
export const isAllowed = (allowed: readonly AddressBlock[], peer: string | undefined): boolean => {
  const address = readAddress(peer ?? '')
  return address !== undefined && allowed.some((block) => isWithin(address, block))
}

/** What everybody else is told, before their request is looked at. */
export const notAllowed = (): Response =>
  Response.json(
    { error: { message: 'Your address may not use this server.', type: 'forbidden', code: 'forbidden' } },
    { status: 403, headers: { connection: 'close' } },
  )

/** Certificates for tests: an authority of our own, and what it signs for a name. Source of the form: RFC 5280. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

export type Certificate = { readonly pem: string; readonly key: string }

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts)
  const size = body.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
const SEQUENCE = 0x30
const bytes = (...values: number[]): Buffer => Buffer.from(values)
const oid = (...values: number[]): Buffer => der(0x06, bytes(...values))

const BY_ECDSA = der(SEQUENCE, oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
const nameOf = (name: string): Buffer =>
  der(SEQUENCE, der(0x31, der(SEQUENCE, oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(name)))))
const ALWAYS = der(SEQUENCE, der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z')))
const IS_AUTHORITY = der(
  SEQUENCE,
  oid(0x55, 0x1d, 0x13),
  der(0x01, bytes(0xff)),
  der(0x04, der(SEQUENCE, der(0x01, bytes(0xff)))),
)
const alsoNamed = (host: string): Buffer =>
  der(SEQUENCE, oid(0x55, 0x1d, 0x11), der(0x04, der(SEQUENCE, der(0x82, Buffer.from(host)))))

const certificate = (
  issuer: string,
  subject: string,
  own: KeyObject,
  by: KeyObject,
  more: Buffer,
): string => {
  const content = der(
    SEQUENCE,
    der(0xa0, der(0x02, bytes(2))),
    der(
      0x02,
      crypto.getRandomValues(new Uint8Array(8)).map((byte, at) => (at === 0 ? 1 : byte)),
    ),
    BY_ECDSA,
    nameOf(issuer),
    ALWAYS,
    nameOf(subject),
    own.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, more)),
  )
  const signed = der(SEQUENCE, content, BY_ECDSA, der(0x03, bytes(0), sign('sha256', content, by)))
  // No empty line behind a last one that is full: some readers refuse it.
  const lines = (signed.toString('base64').match(/.{1,64}/g) ?? []).join('\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}

/** An authority, which signs for hosts. */
export const newAuthority = (name: string) => {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    pem: certificate(name, name, own.publicKey, own.privateKey, IS_AUTHORITY),
    signFor: (host: string): Certificate => {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return {
        pem: certificate(name, host, publicKey, own.privateKey, alsoNamed(host)),
        key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      }
    },
  }
}

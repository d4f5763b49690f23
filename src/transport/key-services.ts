/**
 * Services that wrap data keys with a master that never leaves them: AWS KMS and the transit engine of Vault. What is wrapped
 * is bound to whom it is for. Sources: AWS KMS API Reference, Encrypt and Decrypt; Vault HTTP API, transit.
 */
import { isObject, type Json, type JsonObject, parseJson } from '../core/json-body.ts'
import type { Secret } from '../core/secret.ts'
import { type AwsKey, awsSigner } from './sign-aws.ts'

const ANSWER_MS = 5_000

/** A service could not be reached, or refused; nothing of a key is in its message. */
export class NoMaster extends Error {}

export type Master = {
  /** Says which key of which service it is; stored beside what it wrapped. */
  readonly id: string
  wrap(key: Uint8Array, owner: string): Promise<string>
  /** Rejects if it was wrapped for somebody else. */
  unwrap(wrapped: string, owner: string): Promise<Uint8Array>
}

const asked = async (
  service: string,
  request: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: Uint8Array
  },
): Promise<JsonObject> => {
  let response: Response
  try {
    response = await fetch(request.url, {
      method: 'POST',
      headers: request.headers,
      body: request.body as Uint8Array<ArrayBuffer>,
      signal: AbortSignal.timeout(ANSWER_MS),
      redirect: 'error',
    })
  } catch {
    throw new NoMaster(`${service} cannot be reached`)
  }
  const value = parseJson(await response.text().catch(() => ''))
  if (!response.ok || !isObject(value)) throw new NoMaster(`${service} answered ${response.status}`)
  return value
}

const textIn = (service: string, value: Json | undefined): string => {
  if (typeof value !== 'string' || value === '') throw new NoMaster(`${service} answered something else`)
  return value
}

const bytesOf = (value: object): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
const base64 = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64')

/** The master is a key of AWS KMS; whom it is for is the encryption context. */
export const awsKms = (key: AwsKey, keyId: string, url?: string): Master => {
  const at = url ?? `https://kms.${key.region}.amazonaws.com/`
  const ask = async (action: 'Encrypt' | 'Decrypt', input: object): Promise<JsonObject> => {
    const body = bytesOf(input)
    const sent = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `TrentService.${action}` }
    return asked('AWS KMS', { url: at, body, headers: await awsSigner(key, 'kms', sent)({ url: at, body }) })
  }
  return {
    id: `aws-kms:${keyId}`,
    wrap: async (bytes, owner) => {
      const input = { KeyId: keyId, Plaintext: base64(bytes), EncryptionContext: { owner } }
      return textIn('AWS KMS', (await ask('Encrypt', input)).CiphertextBlob)
    },
    unwrap: async (wrapped, owner) => {
      const input = { KeyId: keyId, CiphertextBlob: wrapped, EncryptionContext: { owner } }
      return Buffer.from(textIn('AWS KMS', (await ask('Decrypt', input)).Plaintext), 'base64')
    },
  }
}

type VaultPlace = {
  readonly url: string
  readonly token: Secret
  readonly key: string
}

/** The master is a key of Vault's transit engine; whom it is for is the associated data. */
export const vaultTransit = ({ url, token, key }: VaultPlace): Master => {
  const ask = async (action: 'encrypt' | 'decrypt', member: string, input: object): Promise<string> => {
    const answer = await asked('Vault', {
      url: `${url.replace(/\/+$/, '')}/v1/transit/${action}/${key}`,
      headers: { 'content-type': 'application/json', 'x-vault-token': token.reveal() },
      body: bytesOf(input),
    })
    return textIn('Vault', isObject(answer.data) ? answer.data[member] : undefined)
  }
  return {
    id: `vault:${key}`,
    wrap: (bytes, owner) =>
      ask('encrypt', 'ciphertext', { plaintext: base64(bytes), associated_data: base64(owner) }),
    unwrap: async (wrapped, owner) =>
      Buffer.from(
        await ask('decrypt', 'plaintext', { ciphertext: wrapped, associated_data: base64(owner) }),
        'base64',
      ),
  }
}

/**
 * AWS KMS and the transit engine of Vault as tests play them, strictly by their documents: AWS KMS API Reference (Encrypt,
 * Decrypt), AWS Signature Version 4, and Vault HTTP API (transit).
 */
import { AwsV4Signer } from 'aws4fetch'

type Played = {
  readonly url: string
  /** What it was asked that the documents do not allow. */
  readonly wrong: string[]
  asked: number
  /** It answers nobody. */
  away: boolean
  stop(): void
}

type Kept = { readonly plaintext: string; readonly bound: string }

const play = (
  answer: (request: Request, body: any, wrong: string[], kept: Map<string, Kept>) => Promise<Response>,
): Played => {
  const kept = new Map<string, Kept>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      it.asked++
      if (it.away) return new Response('', { status: 503 })
      return answer(request, await request.clone().json(), it.wrong, kept)
    },
  })
  const it: Played = {
    url: `http://127.0.0.1:${server.port}`,
    wrong: [],
    asked: 0,
    away: false,
    stop: () => void server.stop(true),
  }
  return it
}

const only = (body: object, names: readonly string[], wrong: string[]): void => {
  const found = Object.keys(body).toSorted().join(' ')
  if (found !== names.toSorted().join(' ')) wrong.push(`members: ${found}`)
}

const is32 = (base64: unknown): boolean =>
  typeof base64 === 'string' && Buffer.from(base64, 'base64').length === 32

export const KMS_KEY = 'arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab'
export const AWS = { id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }

/** The signature that the request ought to have. */
const signatureOf = async (request: Request): Promise<string | null> => {
  const sent = Object.fromEntries(
    ['content-type', 'x-amz-target'].map((name) => [name, request.headers.get(name) ?? '']),
  )
  const signer = new AwsV4Signer({
    ...{ method: request.method, url: request.url, headers: sent, body: await request.clone().arrayBuffer() },
    ...{ accessKeyId: AWS.id, secretAccessKey: AWS.secret, service: 'kms', region: 'eu-central-1' },
    datetime: request.headers.get('x-amz-date') ?? '',
  })
  return (await signer.sign()).headers.get('authorization')
}

export const playKms = (): Played =>
  play(async (request, body, wrong, kept) => {
    const { headers } = request
    const failed = (type: string, status = 400) =>
      Response.json({ __type: type }, { status, headers: { 'content-type': 'application/x-amz-json-1.1' } })
    if (request.method !== 'POST' || new URL(request.url).pathname !== '/') wrong.push(request.url)
    if (headers.get('content-type') !== 'application/x-amz-json-1.1') wrong.push('content-type')
    if (headers.get('authorization') !== (await signatureOf(request)))
      return failed('InvalidSignatureException')
    const bound = JSON.stringify(body.EncryptionContext)
    if (body.KeyId !== KMS_KEY) return failed('NotFoundException')
    if (headers.get('x-amz-target') === 'TrentService.Encrypt') {
      only(body, ['KeyId', 'Plaintext', 'EncryptionContext'], wrong)
      if (!is32(body.Plaintext)) wrong.push('Plaintext')
      const blob = Buffer.from(crypto.getRandomValues(new Uint8Array(120))).toString('base64')
      kept.set(blob, { plaintext: body.Plaintext, bound })
      return Response.json({ CiphertextBlob: blob, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT', KeyId: KMS_KEY })
    }
    if (headers.get('x-amz-target') !== 'TrentService.Decrypt') return failed('UnknownOperationException')
    only(body, ['KeyId', 'CiphertextBlob', 'EncryptionContext'], wrong)
    const found = kept.get(body.CiphertextBlob)
    if (found === undefined || found.bound !== bound) return failed('InvalidCiphertextException')
    return Response.json({
      Plaintext: found.plaintext,
      EncryptionAlgorithm: 'SYMMETRIC_DEFAULT',
      KeyId: KMS_KEY,
    })
  })

export const VAULT_TOKEN = 'hvs.test-token'

export const playVault = (): Played =>
  play(async (request, body, wrong, kept) => {
    const errors = (status: number, ...said: string[]) => Response.json({ errors: said }, { status })
    const done = (data: object) =>
      Response.json({
        ...{ request_id: crypto.randomUUID(), lease_id: '', renewable: false, lease_duration: 0 },
        ...{ data, wrap_info: null, warnings: null, auth: null },
      })
    if (request.headers.get('x-vault-token') !== VAULT_TOKEN) return errors(403, 'permission denied')
    const { pathname } = new URL(request.url)
    if (request.method !== 'POST') wrong.push(request.method)
    if (pathname === '/v1/transit/encrypt/turnpike') {
      only(body, ['plaintext', 'associated_data'], wrong)
      if (!is32(body.plaintext)) wrong.push('plaintext')
      const ciphertext = `vault:v1:${Buffer.from(crypto.getRandomValues(new Uint8Array(60))).toString('base64')}`
      kept.set(ciphertext, { plaintext: body.plaintext, bound: body.associated_data })
      return done({ ciphertext, key_version: 1 })
    }
    if (pathname !== '/v1/transit/decrypt/turnpike') return errors(404)
    only(body, ['ciphertext', 'associated_data'], wrong)
    const found = kept.get(body.ciphertext)
    if (found === undefined || found.bound !== body.associated_data)
      return errors(400, 'cipher: message authentication failed')
    return done({ plaintext: found.plaintext })
  })

/** Requests signed with an access key. Source of the scheme: AWS, "Signature Version 4 signing process"; done by aws4fetch. */
import { AwsV4Signer } from 'aws4fetch'
import type { Secret } from '../core/secret.ts'
import type { UnsignedRequest } from '../vendors/setup.ts'

export type AwsKey = {
  readonly id: string
  readonly secret: Secret
  readonly sessionToken?: Secret | undefined
  readonly region: string
}

const JSON_BODY = { 'content-type': 'application/json' }

/** Makes the headers that sign a request to Amazon Bedrock, or to another service, with these headers. */
export const awsSigner =
  (key: AwsKey, service = 'bedrock', sent: Readonly<Record<string, string>> = JSON_BODY) =>
  async ({ url, body, method = 'POST' }: UnsignedRequest): Promise<Record<string, string>> => {
    const signer = new AwsV4Signer({
      method,
      url,
      body: body as Uint8Array<ArrayBuffer>,
      headers: sent,
      service,
      region: key.region,
      accessKeyId: key.id,
      secretAccessKey: key.secret.reveal(),
      ...(key.sessionToken === undefined ? {} : { sessionToken: key.sessionToken.reveal() }),
    })
    const { headers } = await signer.sign()
    const signed: Record<string, string> = {}
    headers.forEach((value, name) => {
      if (name !== 'host') signed[name] = value
    })
    return signed
  }

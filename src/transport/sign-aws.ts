/** Requests signed with an access key. Source of the scheme: AWS, "Signature Version 4 signing process"; done by aws4fetch. */
import { AwsV4Signer } from 'aws4fetch'
import type { Secret } from '../core/secret.ts'
import type { UnsignedRequest } from '../vendors/setup.ts'

type AwsKey = {
  readonly id: string
  readonly secret: Secret
  readonly sessionToken?: Secret | undefined
  readonly region: string
}

/** Makes the headers that sign a request to Amazon Bedrock. */
export const awsSigner =
  (key: AwsKey) =>
  async ({ url, body }: UnsignedRequest): Promise<Record<string, string>> => {
    const signer = new AwsV4Signer({
      method: 'POST',
      url,
      body,
      headers: { 'content-type': 'application/json' },
      service: 'bedrock',
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

/** The public keys with which anyone can check receipts. */
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { jwksOf } from '../../receipts/keys.ts'
import { json } from '../answer/reply.ts'

export const getJwks = async (gateway: Gateway): Promise<Answer> => {
  const answer = json(jwksOf((await gateway.receipts?.keys.published()) ?? []))
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'public, max-age=300' } }
}

/** GET /metrics: what operators' tools read. Every number is the business of who runs the server, so a token opens it. */
import { must, refuse, unavailable } from '../core/refusal.ts'
import type { Answer } from '../gateway/answer.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { ownMetrics } from '../gateway/read-metrics.ts'
import { contentTypes, formatFor, render } from '../metrics/render.ts'
import type { Handler } from './route.ts'

const encoder = new TextEncoder()

/** The text for all processes on the port, in the format that the request likes best. */
export const metricsAnswer = async (gateway: Gateway, accept: string | null): Promise<Answer> => {
  const together = gateway.metrics?.together
  const snapshot = together === undefined ? ownMetrics(gateway) : await together.all().catch(notAll)
  const format = formatFor(accept)
  return {
    status: 200,
    headers: { 'content-type': contentTypes[format], 'cache-control': 'no-store' },
    body: encoder.encode(render(snapshot, format)),
  }
}

/** A part of the sums would look as if the process had started again. */
const notAll = (): never => {
  throw unavailable('The other processes of this server do not answer.')
}

export const getMetrics: Handler = async (gateway, { request: { headers } }) => {
  const tokenHash = gateway.metrics?.tokenHash
  if (tokenHash === undefined)
    throw refuse('not_found', 'Metrics are not served at this address; METRICS says where.')
  must(opens(gateway, tokenHash, headers.get('authorization')))
  return metricsAnswer(gateway, headers.get('accept'))
}

/** Hashes are compared, so that how long it takes tells nothing of the token. */
const opens = ({ hash }: Gateway, tokenHash: string, authorization: string | null) => {
  const given = /^bearer +(\S+)$/i.exec(authorization?.trim() ?? '')?.[1]
  if (given === undefined)
    return refuse('missing_authorization', "Send METRICS_TOKEN in the header 'Authorization: Bearer …'.", {
      headers: { 'www-authenticate': 'Bearer' },
    })
  return hash(given) === tokenHash
    ? undefined
    : refuse('invalid_api_key', 'This is not the METRICS_TOKEN of the server.', {
        headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
      })
}

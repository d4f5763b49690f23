/**
 * GET /metrics, for the operators' monitoring. The figures are the operator's own business, so a token protects them.
 */
import { must, refuse, unavailable } from '../../core/refusal.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { ownMetrics } from '../../gateway/read-metrics.ts'
import { contentTypes, formatFor, render } from '../../metrics/render.ts'
import type { Handler } from '../route/route.ts'

const encoder = new TextEncoder()

/** The text for all processes on the port, in the format that the request prefers. */
export const metricsAnswer = async (gateway: Gateway, accept: string | null): Promise<Answer> => {
  const together = gateway.watch.metrics?.together
  const snapshot = together === undefined ? ownMetrics(gateway) : await together.all().catch(notAll)
  const format = formatFor(accept)
  return {
    status: 200,
    headers: { 'content-type': contentTypes[format], 'cache-control': 'no-store' },
    body: encoder.encode(render(snapshot, format)),
  }
}

/** A partial sum would look as if a process had restarted, so a missing process is a refusal. */
const notAll = (): never => {
  throw unavailable('The other processes of this server do not answer.')
}

export const getMetrics: Handler = async (gateway, { request: { headers } }) => {
  const tokenHash = gateway.watch.metrics?.tokenHash
  if (tokenHash === undefined)
    throw refuse('not_found', 'Metrics are not served at this address; METRICS says where.')
  must(opens(gateway, tokenHash, headers.get('authorization')))
  return metricsAnswer(gateway, headers.get('accept'))
}

/** Compares hashes, so that the time it takes reveals nothing about the token. */
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

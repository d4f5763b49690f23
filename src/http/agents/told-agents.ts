/**
 * What signed-in agents are told and tell: their organisation's settings, what their person has spent, and their telemetry,
 * which is passed on and kept nowhere. Source: code.claude.com/docs/en/llm-gateway-protocol.
 */
import { createHash } from 'node:crypto'
import { isObject, type Json } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import { refuse, retryIn } from '../../core/refusal.ts'
import { takeSmallTurn } from '../../gateway/enter/small-turn.ts'
import { json } from '../answer/reply.ts'
import { callerOf } from '../request/caller.ts'
import { readBody } from '../request/read-body.ts'
import type { Handler } from '../route/route.ts'

/** JSON with the members of each object in the order of their names, and no space between. */
const inOrder = (value: Json | undefined): string => {
  if (Array.isArray(value)) return `[${value.map((one: Json) => inOrder(one)).join()}]`
  if (!isObject(value)) return JSON.stringify(value ?? null)
  const members = Object.keys(value)
    .sort()
    .filter((name) => value[name] !== undefined)
    .map((name) => `${JSON.stringify(name)}:${inOrder(value[name])}`)
  return `{${members.join()}}`
}

/** The settings of the team, else of the organisation; for as long as they are the same answered with 304. */
export const getManagedSettings: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call)
  await takeSmallTurn(gateway, key, call.trace)
  const { logins, teams } = gateway.store
  const [team] = key.subWallet === undefined ? [] : await teams.teams({ orgId: key.orgId, id: key.subWallet })
  const settings = team?.settings ?? (await logins.agentSettings(key.orgId))
  if (settings === undefined)
    throw refuse('not_found', 'Your organisation has no settings for agents (agent_settings).')
  const checksum = `sha256:${createHash('sha256').update(inOrder(settings)).digest('hex')}`
  const etag = `"${checksum}"`
  const asked = call.request.headers.get('if-none-match')
  if (asked === etag) return { status: 304, headers: { etag }, body: new Uint8Array() }
  const answer = json({ uuid: checksum.slice(7, 39), checksum, settings })
  return { ...answer, headers: { ...answer.headers, etag } }
}

const OTLP_BYTES_MAX = 4 * 1024 * 1024
const OTLP_TYPE = /^application\/(?:json|x-protobuf)/i
const FORWARD_MS = 10_000

/** Passes what an agent measured on to the operator's collector, if there is one. */
export const takeTelemetry =
  (signal: 'metrics' | 'logs' | 'traces'): Handler =>
  async (gateway, call) => {
    const key = await callerOf(gateway, call)
    await takeSmallTurn(gateway, key, call.trace)
    const body = await readBody(gateway, call, OTLP_BYTES_MAX, OTLP_TYPE)
    gateway.watch.meters?.agentTold(signal)
    const to = gateway.console?.agentTelemetryUrl
    if (to !== undefined)
      try {
        await forward(
          `${to.replace(/\/$/, '')}/v1/${signal}`,
          call.request.headers.get('content-type') ?? '',
          body,
        )
      } catch (error) {
        gateway.log.warn('telemetry of an agent was not passed on', { kind: signal, error: messageOf(error) })
        throw refuse('service_unavailable', 'The collector does not answer; send it again.', retryIn(30))
      }
    return json({})
  }

const forward = async (url: string, type: string, body: Uint8Array): Promise<void> => {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': type },
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(FORWARD_MS),
  })
  await answer.body?.cancel()
  if (!answer.ok) throw new Error(`the collector answered ${answer.status}`)
}

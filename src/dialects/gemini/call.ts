/** Generate content: turns a request into a call. */
import type { Call } from '../../core/call.ts'
import type { JsonBody } from '../../core/json-body.ts'
import { Refusal } from '../../core/refusal.ts'
import { objectOf, textOf } from '../request/json-members.ts'
import { readRequest } from '../request/request.ts'
import { member } from '../request/spelling.ts'
import { geminiRequest } from './request.ts'

/** What the path names: the model and the method. */
type GeminiTarget = {
  readonly modelName: string
  readonly stream: boolean
  /** The stream is one JSON list. */
  readonly listed: boolean
}

/** Reads and checks a body for the model and method of the path. */
export const decodeGeminiCall = (
  body: JsonBody,
  { modelName, stream, listed }: GeminiTarget,
): Call | Refusal => {
  const found = readRequest(geminiRequest, body.outline)
  if (found instanceof Refusal) return found
  const config = objectOf(member(body.outline, 'generationConfig'))
  const maxOutput = member(config, 'maxOutputTokens')
  const choices = member(config, 'candidateCount')
  const tier = textOf(member(body.outline, 'serviceTier'))?.toLowerCase()
  return {
    kind: 'chat',
    dialect: 'gemini',
    modelName,
    body,
    stream,
    listed,
    showUsage: true,
    ...(typeof maxOutput === 'number' ? { maxOutput } : {}),
    choices: typeof choices === 'number' ? choices : 1,
    size: found.sizeOf(body),
    foreign: found.foreign,
    ...(tier === 'flex' ? { tier } : {}),
  }
}

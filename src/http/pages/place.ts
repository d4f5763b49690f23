/** What this server says about itself where it shows its products: its address, what it takes, and what it answers. */
import { z } from 'zod'
import { isObject, type JsonObject } from '../../core/json-body.ts'
import type { ModelKind } from '../../core/model.ts'
import { decimalFromNano } from '../../core/money.ts'
import { HOUR_MS } from '../../core/time.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Place } from '../../products/place.ts'
import { type Shelf, shelfFor } from '../../products/shelf.ts'
import type { HttpCall } from '../route/route.ts'
import { addressOf } from '../route/router.ts'
import {
  chatCompletion,
  contentEmbedding,
  contentEmbeddings,
  embeddingsAnswer,
  generateContentResponse,
  message,
} from '../schema/calls.ts'
import { mediaRun } from '../schema/media.ts'

const HOURS_A_DAY = 24

type FormAnswer = readonly [form: string, answer: z.ZodType]

const answerForms: Readonly<Record<Exclude<ModelKind, 'media'>, readonly FormAnswer[]>> = {
  chat: [
    ['chat_completions', chatCompletion],
    ['messages', message],
    ['generate_content', generateContentResponse],
  ],
  embeddings: [
    ['embeddings', embeddingsAnswer],
    ['generate_content', contentEmbedding],
    ['generate_content', contentEmbeddings],
  ],
}
const made = new Map<ModelKind, JsonObject>()

const answersOf = (kind: ModelKind): JsonObject => {
  const known = made.get(kind)
  if (known !== undefined) return known
  const schema: JsonObject =
    kind === 'media'
      ? alone(mediaRun)
      : {
          type: 'object',
          description: "The answer has the form of the inputs, which 'form' states",
          anyOf: answerForms[kind].map(([form, answer]) => ({ title: `form: ${form}`, ...alone(answer) })),
        }
  made.set(kind, schema)
  return schema
}

const alone = (answer: z.ZodType): JsonObject => {
  const whole = z.toJSONSchema(answer, { io: 'input' }) as JsonObject
  // zod puts a named schema under `$defs`, and the root only refers to it.
  const [named] = isObject(whole.$defs) ? Object.values(whole.$defs) : []
  const { $schema: _dialect, id: _name, ...schema } = isObject(named) ? named : whole
  return schema
}

export const placeOf = (gateway: Gateway, { request }: HttpCall): Place => {
  const { options, publicUrl } = gateway
  const { x402, stripe } = gateway.payments
  const { trial, signUpUrl } = options
  return {
    base: publicUrl ?? x402?.options.publicUrl ?? new URL(addressOf(request)).origin,
    x402: (x402?.offers().length ?? 0) > 0,
    cardsByCall: (x402?.cards.length ?? 0) > 0,
    trial:
      trial.amount === 0n
        ? undefined
        : {
            usd: decimalFromNano(trial.amount),
            days: Math.round(trial.lifeMs / HOUR_MS / HOURS_A_DAY),
          },
    signUpUrl,
    console: gateway.console !== undefined,
    cards: stripe !== undefined,
    answers: answersOf,
  }
}

/** The products that are sold now. */
export const shelfHere = ({ offering, clock }: Gateway): Shelf => shelfFor(offering.catalogue, clock.now())

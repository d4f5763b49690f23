/** Where a vendor puts the usage in an answer or in the events of a stream. */
import { isObject, type JsonObject } from '../core/json-body.ts'
import type { UsageQuirks } from './usage-quirks.ts'

type UsageFinder = (event: JsonObject) => JsonObject | undefined

const onTop: UsageFinder = (event) => (isObject(event.usage) ? event.usage : undefined)

/** Groq reports streams in `x_groq.usage`. */
const underGroq: UsageFinder = (event) =>
  onTop(event) ?? (isObject(event.x_groq) && isObject(event.x_groq.usage) ? event.x_groq.usage : undefined)

/** Moonshot reports streams in the last choice. */
const onChoice: UsageFinder = (event) => {
  const top = onTop(event)
  if (top !== undefined || !Array.isArray(event.choices)) return top
  for (const choice of event.choices) if (isObject(choice) && isObject(choice.usage)) return choice.usage
  return undefined
}

const finders = { top: onTop, x_groq: underGroq, choice: onChoice } as const

export const usageFinder = (quirks: UsageQuirks | undefined): UsageFinder => finders[quirks?.usageAt ?? 'top']

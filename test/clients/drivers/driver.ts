/** What the matrix needs of a client, each in the terms of its own documentation. */
import { z } from 'zod'

export type Address = { readonly baseURL: string; readonly key: string }

export type Ask = {
  readonly model: string
  readonly prompt: string
  readonly stream?: boolean
  readonly thinks?: boolean
  /** A PNG in base64. */
  readonly image?: string
}

type Answer = {
  readonly text: string
  readonly thinking: string
  readonly input: number | undefined
  readonly output: number | undefined
}

export type Called = readonly [name: string, args: unknown]

type Loop = {
  /** The calls of each round. */
  readonly rounds: readonly (readonly Called[])[]
  readonly text: string
}

export type Client = {
  say(ask: Ask): Promise<Answer>
  /** Asks with tools, runs them, and asks again until there is a text. */
  loop(ask: Ask): Promise<Loop>
  /** The client's own method for structured output. */
  structured(model: string): Promise<unknown>
  /** Has a conversation compacted and goes on from what is left; the kinds of what is left, and what it then says. */
  compact?(model: string): Promise<{ readonly left: readonly string[]; readonly text: string }>
  /** The HTTP status of an error the client threw; undefined when the error has none. */
  statusOf(error: unknown): number | undefined
}

export type Feature =
  | 'text'
  | 'stream'
  | 'tools'
  | 'image'
  | 'structured output'
  | 'reasoning'
  | 'compaction'
  | 'error'

export type Driver = {
  readonly name: string
  readonly package: string
  readonly open: (address: Address) => Client
  /** What the client itself cannot express, with the reason. */
  readonly cannot?: Partial<Record<Feature, string>>
  /** The client asks for compactions; without it the cell is empty. */
  readonly compacts?: true
  /** What the client needs or does beside its address and key; the page prints it below the matrix. */
  readonly note?: string
  /** The client does not read the counts of a stream from their final place in the dialect. */
  readonly miscountsStreams?: true
  /** The client sends other vendors' reasoning back with its signature. */
  readonly knowsSignatures: boolean
}

export const toolParameters = {
  get_weather: {
    type: 'object' as const,
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
  get_time: {
    type: 'object' as const,
    properties: { zone: { type: 'string' } },
    required: ['zone'],
    additionalProperties: false,
  },
}
export type ToolName = keyof typeof toolParameters
export const toolNames: readonly ToolName[] = ['get_weather', 'get_time']
export const descriptions: Readonly<Record<ToolName, string>> = {
  get_weather: 'The weather of a city',
  get_time: 'The time in a zone',
}

/** The answers of the tools. */
export const runTool = (name: string): string => (name === 'get_weather' ? 'sunny, 21 °C' : '12:30')

export const personSchema = z.object({ name: z.string(), age: z.number().int().min(0) })

export const ROUNDS_MAX = 4

/** Collects a stream; returns how many pieces it came in. */
export const collect = async <T>(stream: AsyncIterable<T>, each: (piece: T) => void): Promise<void> => {
  for await (const piece of stream) each(piece)
}

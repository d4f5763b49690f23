/** Rows of the console's API, each by its address with who may ask it and what answers. */
import type { z } from 'zod'
import { readAs } from '../core/body.ts'
import { must } from '../core/refusal.ts'
import type { ConsoleRoute, Here, Reply } from './here.ts'
import { done } from './schema/shared.ts'

type Address = `${ConsoleRoute['method']} /${string}`
type Said = Omit<ConsoleRoute, 'method' | 'path' | 'answer'> & Partial<Pick<ConsoleRoute, 'answer'>>
type SaidOfBody<Body> = Omit<Said, 'body' | 'handler'> & {
  readonly body: z.ZodType<Body>
  readonly handler: (here: Here, body: Body) => Promise<Reply>
}

/** The row of an address such as `DELETE /session`; it answers that it is done, unless it says what else. */
export const route = (address: Address, { answer = done, ...said }: Said): ConsoleRoute => {
  const [method, path] = address.split(' ', 2) as [ConsoleRoute['method'], string]
  return { ...said, method, path, answer }
}

/** The same with a body, which the handler gets as the schema reads it. */
export const bodied = <Body>(address: Address, { handler, ...said }: SaidOfBody<Body>): ConsoleRoute =>
  route(address, {
    ...said,
    handler: async (here, body) => handler(here, must(readAs(said.body, await body()))),
  })

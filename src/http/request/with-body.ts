/** Rows of the route table whose handlers get their body as the row's schema reads it. */
import type { z } from 'zod'
import { readAs } from '../../core/body.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { HelperRefusal } from '../answer/helper-refusal.ts'
import type { HttpCall, Route } from '../route/route.ts'
import { readSmallBody } from './read-body.ts'

/** `body` reads the body; a handler calls it once it knows the caller. Throws the refusal of what is wrong. */
export type BodyHandler<Body> = (
  gateway: Gateway,
  call: HttpCall,
  body: () => Promise<Body>,
) => Promise<Answer>

type BodyRoute<Body> = Omit<Route, 'body' | 'handler'> & {
  readonly body: z.ZodType<Body>
  /** The specification's own error string for what is wrong with these members, if it has one. */
  readonly otherwise?: (wrong: ReadonlySet<string>) => HelperRefusal | undefined
  /** It may be as large as that of a call. */
  readonly large?: true
  readonly handler: BodyHandler<Body>
}

export const withBody = <Body>({ handler, otherwise, large, ...row }: BodyRoute<Body>): Route => ({
  ...row,
  handler: (gateway, call) =>
    handler(gateway, call, async () => {
      const bytesMax = large === true ? gateway.options.bodyBytesMax : undefined
      const read = readAs(row.body, await readSmallBody(gateway, call, bytesMax), otherwise)
      if (read instanceof Refusal || read instanceof HelperRefusal) throw read
      return read
    }),
})

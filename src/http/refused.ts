/** The answer for a request that is refused before a gateway has it, in the style of its address. */
import { Refusal } from '../core/refusal.ts'
import { newId } from '../core/time.ts'
import { callerDialects } from '../dialects/index.ts'
import { helpFor } from './answer/after-turn.ts'
import { helperBody } from './answer/helper-refusal.ts'
import { createRouter, splitUrl } from './route/router.ts'
import { routes } from './routes.ts'

const match = createRouter(routes)

export const refusedAnswer = (request: Request, refusal: Refusal): Response => {
  const matched = match(request.method, splitUrl(request.url).path)
  const { dialect, helper } = matched instanceof Refusal ? {} : matched.route
  const id = newId()
  const body =
    helper === true ? helperBody(refusal, id) : callerDialects[dialect ?? 'chat'].refusal(refusal, id)
  return Response.json(body, {
    status: refusal.status,
    headers: { 'x-request-id': id, ...helpFor(refusal.code), ...refusal.headers },
  })
}

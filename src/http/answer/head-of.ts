/** HEAD: the answer of GET without its body (RFC 9110, 9.3.2), for monitors and players that look before they read. */
import type { Answer } from '../../gateway/parts/answer.ts'

const NOTHING = new Uint8Array()

/** The answer with the length of its body in place of the body. What is streamed ends unread. */
export const headOf = async (answer: Answer): Promise<Answer> => {
  const { body, headers } = answer
  if (body instanceof Uint8Array)
    return { ...answer, headers: { ...headers, 'content-length': String(body.length) }, body: NOTHING }
  // What never began would not let go of what it holds.
  await body.next()
  await body.return?.()
  return { ...answer, body: NOTHING }
}

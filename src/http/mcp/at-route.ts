/** A tool that calls one of the server's own addresses: a run by its id. */
import { isObject, parseJson } from '../../core/json-body.ts'
import type { McpCall } from './context.ts'
import { inlineOf } from './inline.ts'
import { contentOf, type ToolResult } from './result.ts'

const PATH = '/v1/run/:id'

const decoder = new TextDecoder()

/** The address's answer; keys and refusals are the same. */
export const atRoute = async (
  it: McpCall,
  method: 'GET' | 'DELETE',
  { id, token }: { readonly id: string; readonly token: string | undefined },
): Promise<ToolResult> => {
  const { gateway, call, routes } = it
  const route = routes.find((one) => one.method === method && one.path === PATH)
  if (route === undefined) throw new Error(`there is no route for ${method} ${PATH}`)
  const { body } = await route.handler(gateway, {
    ...call,
    query: token === undefined ? '' : new URLSearchParams({ token }).toString(),
    params: { id },
  })
  const value = body instanceof Uint8Array ? parseJson(decoder.decode(body)) : undefined
  const content = isObject(value) ? value : {}
  return { structuredContent: content, content: [...contentOf(content), ...(await inlineOf(it, content))] }
}

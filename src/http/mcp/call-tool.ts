/**
 * `tools/call`: a tool is one of the four that every agent has, or a product. A refusal is a result; an unknown tool is
 * a protocol error.
 */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { isObject, type JsonObject, parseJson, present } from '../../core/json-body.ts'
import { invalid, refusalBody } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import { refusalFor } from '../../gateway/answer/refusal-for.ts'
import { metaTools } from '../../products/meta-tools.ts'
import { afterTurn } from '../answer/after-turn.ts'
import { shelfHere } from '../pages/place.ts'
import type { McpCall } from './context.ts'
import { inlineOf } from './inline.ts'
import { type CallRequest, contentOf, type Params, type ToolResult } from './result.ts'
import { runTool } from './run-tool.ts'
import { searchTool } from './search-tool.ts'

const text = (args: JsonObject, name: string): string | undefined => {
  const value = args[name] ?? undefined
  if (value === undefined) return value
  if (typeof value === 'string') return storable(value)
  throw invalid(name, `'${name}' must be a text.`)
}

const needed = (args: JsonObject, name: string): string => {
  const value = text(args, name)
  if (value === undefined || value === '') throw invalid(name, `'${name}' is required: a text.`)
  return value
}

/** Refuses what none of the four tools reads: it may be a misspelt ceiling of the cost. */
const checkNames = (tool: string, args: JsonObject): void => {
  const properties = metaTools.find(({ name }) => name === tool)?.inputSchema.properties
  if (!isObject(properties)) return
  const stranger = Object.keys(args).find((name) => !Object.hasOwn(properties, name))
  if (stranger === undefined) return
  const names = Object.keys(properties).join(', ')
  throw invalid(stranger, `'${stranger.slice(0, 100)}' is not an argument of ${tool}; those are ${names}.`)
}

/** Returns the tool's answer, or throws the Refusal. */
const answered = async (
  it: McpCall,
  { name, arguments: given, _meta }: Params,
  req: CallRequest,
): Promise<ToolResult> => {
  const args = (given ?? {}) as JsonObject
  const meta = (_meta ?? {}) as JsonObject
  checkNames(name, args)
  switch (name) {
    case 'search_products':
      return searchTool(it, args)
    case 'get_run':
      return atRoute(it, 'GET', { id: needed(args, 'id'), token: text(args, 'token') })
    case 'cancel_run':
      return atRoute(it, 'DELETE', { id: needed(args, 'id'), token: text(args, 'token') })
    case 'run_product':
      return runTool(it, req, {
        tool: name,
        model: needed(args, 'product'),
        inputs: args.inputs ?? null,
        meta: {
          ...meta,
          ...present({
            'turnpike/max_cost_usd': args.max_cost_usd,
            'turnpike/idempotency_key': args.idempotency_key,
          }),
        },
      })
    default: {
      const item = shelfHere(it.gateway).byTool.get(name)
      if (item === undefined)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool '${name.slice(0, 100)}'.`)
      return runTool(it, req, { tool: name, model: item.model.id, inputs: args, meta })
    }
  }
}

const failed = (it: McpCall, thrown: unknown): ToolResult => {
  const { gateway, call } = it
  const body = refusalBody(refusalFor(gateway, call.trace, thrown), call.trace.callId)
  return {
    isError: true,
    structuredContent: body,
    content: [{ type: 'text', text: JSON.stringify(body) }],
  }
}

/** The result of a call, whether it succeeded or was refused. Throws only errors of the protocol. */
export const callTool = async (it: McpCall, params: Params, req: CallRequest): Promise<ToolResult> => {
  try {
    return await answered(it, params, req)
  } catch (thrown) {
    if (thrown instanceof ProtocolError) throw thrown
    return failed(it, await afterTurn(it.gateway, it.call.trace, thrown))
  }
}

const PATH = '/v1/run/:id'

const decoder = new TextDecoder()

/** The address's answer; keys and refusals are the same. */
const atRoute = async (
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

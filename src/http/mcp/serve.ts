/** The MCP server for one request: both generations of the protocol, by its own library, with our own tools. */
import { createMcpHandler, type McpRequestContext, Server } from '@modelcontextprotocol/server'
import type { JsonObject } from '../../core/json-body.ts'
import { capabilityOf } from '../../payment/mpp/methods.ts'
import { callTool } from './call-tool.ts'
import type { McpCall } from './context.ts'
import { listTools } from './list-tools.ts'
import { X402 } from './payment.ts'

/** Requests in progress; the library passes each to the server that it makes for it. */
const calls = new WeakMap<Request, McpCall>()

const INSTRUCTIONS =
  'Models and tools of many vendors, charged call by call. search_products finds products with their prices and inputs; run_product runs one by its id. Results tell their cost and a signed receipt in _meta.'

const paymentOf = ({ gateway, place }: McpCall) => {
  const { x402 } = gateway.payments
  if (x402 === undefined || !place.x402) return {}
  const payment = capabilityOf([...x402.offers(), ...x402.cards])
  return { extensions: { [X402]: {} }, experimental: { payment } }
}

/** Stateless: one low-level server per request, so that no schema is compiled. */
const serverFor = ({ requestInfo }: McpRequestContext): Server => {
  const it = requestInfo && calls.get(requestInfo)
  if (it === undefined) throw new Error('a request of the MCP server is not known')
  const server = new Server(
    { name: 'turnpike', title: 'Turnpike', version: '1', websiteUrl: it.place.base },
    {
      capabilities: {
        tools: {},
        ...paymentOf(it),
      },
      instructions: INSTRUCTIONS,
    },
  )
  server.setRequestHandler('tools/list', ({ params }) => listTools(it, params?.cursor))
  server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => callTool(it, params, mcpReq))
  return server
}

const handler = createMcpHandler(serverFor)

/** Answers one message. */
export const serveMcp = async (it: McpCall, message: JsonObject): Promise<Response> => {
  const { request } = it.call
  calls.set(request, it)
  return handler.fetch(request, { parsedBody: message })
}

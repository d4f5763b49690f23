/** Messages of the MCP server, for the API reference. The protocol defines their content. */
import { z } from 'zod'

const id = z.union([z.string(), z.number()])

export const rpcRequest = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: id.optional(),
    method: z.string().describe('tools/list, tools/call, …'),
    params: z.looseObject({}).optional(),
  })
  .meta({ id: 'McpRequest' })

export const rpcAnswer = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: id.nullable().optional(),
    result: z.looseObject({}).optional(),
    error: z.looseObject({ code: z.int(), message: z.string() }).optional(),
  })
  .meta({ id: 'McpAnswer' })

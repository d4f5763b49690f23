/** Messages of the MCP server, for the API reference. The protocol defines their content. */
import { z } from 'zod'
import { namedLoose } from '../../core/body.ts'

const id = z.union([z.string(), z.number()])

export const rpcRequest = namedLoose('McpRequest', {
  jsonrpc: z.literal('2.0'),
  id: id.optional(),
  method: z.string().describe('tools/list, tools/call, …'),
  params: z.looseObject({}).optional(),
})

export const rpcAnswer = namedLoose('McpAnswer', {
  jsonrpc: z.literal('2.0'),
  id: id.nullable().optional(),
  result: z.looseObject({}).optional(),
  error: z.looseObject({ code: z.int(), message: z.string() }).optional(),
})

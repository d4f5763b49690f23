/** The official MCP clients as one: of the newest library in both eras of the protocol, and of the first library. */
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

type Answer = {
  readonly content: readonly {
    readonly type: string
    readonly text?: string
    readonly uri?: string
    readonly mimeType?: string
    readonly data?: string
  }[]
  readonly structuredContent?: any
  readonly isError?: boolean
  readonly _meta?: Record<string, any>
}

type Tool = {
  readonly name: string
  readonly description?: string
  readonly inputSchema: Record<string, unknown>
  readonly outputSchema?: Record<string, unknown>
  readonly _meta?: Record<string, any>
}

export type McpClient = {
  readonly version: () => string | undefined
  tools(): Promise<readonly Tool[]>
  call(
    name: string,
    args: Record<string, unknown>,
    more?: {
      readonly meta?: Record<string, unknown>
      readonly onprogress?: (it: { progress: number; total?: number }) => void
      readonly signal?: AbortSignal
    },
  ): Promise<Answer>
  close(): Promise<void>
}

type Open = (url: string, headers?: Record<string, string>) => Promise<McpClient>

type ToolClient = {
  connect(transport: never): Promise<void>
  listTools(params: {
    cursor?: string
  }): Promise<{ tools: readonly unknown[]; nextCursor?: string | undefined }>
  close(): Promise<void>
}

const toolsOf = async (client: ToolClient): Promise<readonly Tool[]> => {
  const tools: Tool[] = []
  let cursor: string | undefined
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor })
    tools.push(...(page.tools as readonly Tool[]))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return tools
}

const me = { name: 'test', version: '1' }

const newest =
  (mode: 'auto' | 'legacy'): Open =>
  async (url, headers = {}) => {
    const client = new NewClient(me, { versionNegotiation: { mode } })
    await client.connect(new NewTransport(new URL(url), { requestInit: { headers } }))
    return {
      version: () => client.getNegotiatedProtocolVersion(),
      tools: () => toolsOf(client as never),
      call: async (name, args, { meta, ...options } = {}) =>
        (await client.callTool(
          { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) } as never,
          options as never,
        )) as Answer,
      close: () => client.close(),
    }
  }

const first: Open = async (url, headers = {}) => {
  const client = new OldClient(me)
  const transport = new OldTransport(new URL(url), { requestInit: { headers } })
  await client.connect(transport as never)
  return {
    version: () => transport.protocolVersion,
    tools: () => toolsOf(client as never),
    call: async (name, args, { meta, ...options } = {}) =>
      (await client.callTool(
        { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) },
        undefined,
        options as never,
      )) as Answer,
    close: () => client.close(),
  }
}

/** Each by its name, with the version of the protocol that it speaks. */
export const clients: readonly (readonly [name: string, version: string, open: Open])[] = [
  ['client 2.4, 2026', '2026-07-28', newest('auto')],
  ['client 2.4, 2025', '2025-11-25', newest('legacy')],
  ['sdk 1.x', '2025-11-25', first],
]

/** A server on a real port, as clients meet it: on the built-in vendor, or on five strict vendors of five dialects. */
import { isObject, parseJson } from '../../src/core/json-body.ts'
import type { Capability, Model } from '../../src/core/model.ts'
import { Secret } from '../../src/core/secret.ts'
import type { GatewayOptions } from '../../src/gateway/parts/gateway.ts'
import { localFetch } from '../../src/transport/local.ts'
import { localModels } from '../../src/vendors/local/local.ts'
import type { VendorFetch, VendorSetup } from '../../src/vendors/setup.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'
import {
  mockVendor,
  startTestServer,
  type TestServer,
  testModel,
  type VendorRequest,
} from '../server/harness.ts'
import { chatVendor } from './vendors/chat.ts'
import { geminiVendor } from './vendors/gemini.ts'
import { interactionsVendor } from './vendors/interactions.ts'
import { messagesVendor } from './vendors/messages.ts'
import { responsesVendor } from './vendors/responses.ts'
import { type Memory, newMemory, type Script } from './vendors/script.ts'

export type ListeningServer = {
  readonly server: TestServer
  readonly baseURL: string
  readonly key: string
  stop(): Promise<void>
}

const listening = async (server: TestServer): Promise<ListeningServer> => {
  const bound = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: server.fetch })
  return {
    server,
    baseURL: `http://127.0.0.1:${bound.port}/v1`,
    key: (await server.newKey()).token,
    stop: async () => {
      await bound.stop(true)
      await server.stop()
    },
  }
}

/** The built-in models under the scripted vendor's name, so that tests may also script failures. */
export const listen = async (options: Partial<GatewayOptions> = {}): Promise<ListeningServer> => {
  const models = localModels.map((model) => ({ ...model, vendor: 'mock' }))
  const server = await startTestServer({ models, options })
  server.answerWith((asked) =>
    localFetch(asked.url, {
      method: 'POST',
      body: asked.text,
      ...(asked.signal === undefined ? {} : { signal: asked.signal }),
    }),
  )
  return listening(server)
}

export type VendorId = 'chat' | 'responses' | 'messages' | 'gemini' | 'interactions'
export const vendorIds: readonly VendorId[] = ['chat', 'responses', 'messages', 'gemini', 'interactions']

/**
 * The model that stands for each dialect in the matrix, and others of the same vendors that are treated differently.
 */
export const modelOf: Readonly<Record<VendorId, string>> = {
  chat: 'open/oak-1',
  responses: 'deep/cedar-1',
  messages: 'anthropic/claude-sonnet-4-5',
  gemini: 'google/gemini-3-pro',
  interactions: 'deepmind/gemini-3.8-flash',
}
export const otherModels = {
  withoutSchemas: 'anthropic/claude-3-5-haiku',
  adaptive: 'anthropic/claude-opus-4-6',
  withBudgets: 'google/gemini-2.5-flash',
} as const

const vendorOf: Readonly<Record<VendorId, Vendor>> = {
  chat: {
    ...mockVendor,
    id: 'open',
    speaks: 'chat',
    outputBound: 'max_completion_tokens',
    reasoningBack: 'needed',
  },
  responses: { ...mockVendor, id: 'deep', speaks: 'responses' },
  messages: {
    ...mockVendor,
    id: 'anthropic',
    speaks: 'messages',
    auth: 'x-api-key',
    headers: { 'anthropic-version': '2023-06-01' },
  },
  gemini: { ...mockVendor, id: 'google', speaks: 'gemini', auth: 'x-goog-api-key' },
  interactions: { ...mockVendor, id: 'deepmind', speaks: 'interactions', auth: 'x-goog-api-key' },
}

const capabilities: readonly Capability[] = [
  'streaming',
  'function_calling',
  'vision',
  'reasoning',
  'structured_output',
]

const sold = (id: string): Model => {
  const [vendor = '', upstreamName = ''] = id.split('/')
  return { ...testModel(upstreamName), id, vendor, upstreamName, capabilities, maxOutputTokens: 32_000 }
}

const scripted =
  (script: (request: VendorRequest) => Response, memory: Memory): VendorFetch =>
  async (url, init) => {
    const text = await new Response(init.body as never).text()
    memory.request = text
    const body = parseJson(text)
    return script({
      url,
      headers: new Headers(init.headers),
      body: isObject(body) ? body : {},
      text,
      signal: init.signal ?? undefined,
    })
  }

const makers = {
  chat: chatVendor,
  responses: responsesVendor,
  messages: messagesVendor,
  gemini: geminiVendor,
  interactions: interactionsVendor,
}

export type FiveVendors = ListeningServer & { readonly memories: Readonly<Record<VendorId, Memory>> }

/** A server with five scripted vendors, one of each dialect; `answer` decides what the model of one says. */
export const listenWithVendors = async (
  options: Partial<GatewayOptions> = {},
  answer?: (id: VendorId) => Script,
  start: typeof startTestServer = startTestServer,
): Promise<FiveVendors> => {
  const memories = {
    chat: newMemory(answer?.('chat')),
    responses: newMemory(answer?.('responses')),
    messages: newMemory(answer?.('messages')),
    gemini: newMemory(answer?.('gemini')),
    interactions: newMemory(answer?.('interactions')),
  }
  const setups = vendorIds.map(
    (id): VendorSetup => ({
      vendor: vendorOf[id],
      baseUrl: `http://${id}.invalid/v1`,
      secrets: [new Secret('house-key')],
      fetch: scripted(makers[id](memories[id]), memories[id]),
    }),
  )
  const models = [...Object.values(modelOf), ...Object.values(otherModels)].map(sold)
  return { ...(await listening(await start({ models, more: setups, options }))), memories }
}

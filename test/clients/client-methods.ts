/**
 * Every method of the official clients, found in the clients themselves, with the request that it sends: each is called
 * with whatever it takes, by a client whose requests go no further than a list.
 */
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { CohereClient } from 'cohere-ai'
import { Ollama } from 'ollama'
import OpenAI from 'openai'

export type SentRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}
export type ClientMethod = {
  readonly client: string
  readonly name: string
  /** The first request that it sends; undefined if it sends none. */
  readonly sent: SentRequest | undefined
}

/** What ids in an address, and members that name something, are in these calls. */
const ID = 'x-1'
const NAMES = [
  'agent_id',
  'automation_id',
  'batch_id',
  'certificate_id',
  'container_id',
  'conversation_id',
  'credential_id',
  'deployment_id',
  'environment_id',
  'eval_id',
  'fine_tuned_model_checkpoint',
  'fine_tuning_job_id',
  'group_id',
  'memory_store_id',
  'message_id',
  'model',
  'name',
  'project_id',
  'run_id',
  'session_id',
  'skill_id',
  'subagent_id',
  'thread_id',
  'user_id',
  'vault_id',
  'vector_store_id',
  'version',
  'workload_identity_provider_id',
  'workspace_id',
  'operationName',
  'id',
  'dream_id',
  'tunnel_id',
  'service_account_id',
  'turn_id',
  'input',
  'text',
]
const members = () => ({
  ...Object.fromEntries(NAMES.map((name) => [name, ID])),
  file: new File(['x'], 'x.txt', { type: 'text/plain' }),
  files: [new File(['x'], 'x.txt', { type: 'text/plain' })],
  messages: [],
  texts: ['x'],
  documents: ['x'],
  query: 'x',
  inputType: 'search_document',
  embeddingTypes: ['float'],
  tools: [],
  max_tokens: 10,
  contents: 'x',
  source: { prompt: 'x' },
  operation: { name: 'models/x/operations/x' },
})
const kinds: Readonly<Record<string, { readonly name: string }>> = Object.fromEntries(
  ['batches', 'fileSearchStores', 'fileSearchStores.documents', 'tunings'].map((one) => [
    one,
    { name: `${one === 'tunings' ? 'tunedModels' : (one.split('.')[0] ?? '')}/${ID}` },
  ]),
)

/** What a method may take, in the order in which it is tried. */
const tries = (resource: string): readonly (readonly unknown[])[] => [
  [ID, members()],
  // Google's client names things with their kind.
  [{ ...members(), ...kinds[resource] }],
  [members()],
  [ID, ID, members()],
  [{ ...members(), environment: ID, name: 'files/x' }],
  [{ ...members(), name: 'batches/x' }],
  [{ ...members(), fileSearchStoreName: 'fileSearchStores/x', parent: 'fileSearchStores/x' }],
  [ID, ID, ID, members()],
  [ID],
  [],
]

/** Methods that clients have for themselves. */
const PRIVATE =
  /Internal$|^getClient$|^maybe|^processParams|^initAfc|^processAfc|Uri$|^formatDestination$|^isCallableTool$|^createInlined|WithContinuation$|^resolveClient$|^withRawResponse$|^processStreamableRequest$|^fileExists$|^encodeImage$/

/** Members of clients that are no resources. */
const INNER = /^_|client$|^apiClient$|options|fetch|headers|logger|auth$|factory|modelsModule|^middleware$/i

/** The methods of a resource and those inside it, once each. */
const methodsOf = (resource: any, path: string, depth = 0): (readonly [string, () => any, string])[] => {
  const found: (readonly [string, () => any, string])[] = []
  const at = (name: string) => (path === '' ? name : `${path}.${name}`)
  const inner = new Set(Object.keys(resource))
  for (
    let proto = Object.getPrototypeOf(resource);
    proto !== null && proto !== Object.prototype;
    proto = Object.getPrototypeOf(proto)
  )
    for (const [name, { value, get }] of Object.entries(Object.getOwnPropertyDescriptors(proto))) {
      if (get !== undefined) inner.add(name)
      else if (typeof value === 'function' && name !== 'constructor' && /^[a-z]/.test(name) && depth > 0)
        found.push([at(name), () => resource, name])
    }
  for (const name of inner) {
    const value = INNER.test(name) ? undefined : resource[name]
    if (typeof value === 'function' && depth > 0 && /^[a-z]/.test(name))
      found.push([at(name), () => resource, name])
    else if (
      typeof value === 'object' &&
      value !== null &&
      value.constructor !== Object &&
      !Array.isArray(value) &&
      depth < 7
    )
      found.push(...methodsOf(value, at(name), depth + 1))
  }
  const own = found.filter(([, , name]) => !PRIVATE.test(name))
  return [...new Map(own.map((one) => [one[0], one])).values()]
}

type Asked = Parameters<typeof fetch>
const address = 'http://clients.test'
let sent: SentRequest[] = []
const noting = async (url: Asked[0], init?: Asked[1]): Promise<Response> => {
  const request = new Request(url as string, init as RequestInit)
  const { pathname, origin } = new URL(request.url)
  // Some clients try what the fetch of this runtime can.
  if (origin !== address) return new Response('')
  sent.push({ method: request.method, path: pathname, headers: Object.fromEntries(request.headers) })
  return Response.json({ error: { message: 'noted' } }, { status: 400 })
}

const clients = (): Readonly<Record<string, object>> => {
  const key = {
    apiKey: 'k',
    adminAPIKey: 'k',
    webhookSecret: 'k',
    maxRetries: 0,
    fetch: noting as typeof fetch,
  }
  return {
    openai: new OpenAI({ ...key, baseURL: `${address}/v1` }),
    '@anthropic-ai/sdk': new Anthropic({ ...key, baseURL: address }),
    '@google/genai': new GoogleGenAI({
      apiKey: 'k',
      httpOptions: { baseUrl: address, apiVersion: 'v1beta' },
    }),
    'cohere-ai': new CohereClient({
      token: 'k',
      environment: address,
      fetch: noting as typeof fetch,
      maxRetries: 0,
    }),
    // Its methods are its own, in no resource.
    ollama: { ollama: new Ollama({ host: address, fetch: noting as typeof fetch }) },
  }
}

const requestOf = async (resource: any, path: string, name: string): Promise<SentRequest | undefined> => {
  for (const taken of tries(path)) {
    sent = []
    try {
      const began = resource[name](...taken)
      // Lists are read page by page, and streams by their events.
      const answered = (async () => {
        const answer = await began
        if (answer?.[Symbol.asyncIterator] !== undefined) for await (const _ of answer) break
      })()
      answered.catch(() => undefined)
      for (let turn = 0; turn < 200 && sent.length === 0; turn++) {
        const over = await Promise.race([
          answered.then(
            () => true,
            () => true,
          ),
          Bun.sleep(1).then(() => false),
        ])
        if (over) break
      }
    } catch {
      // It takes something else.
    }
    const [first] = sent
    if (first !== undefined) return first
  }
  return undefined
}

const everyMethod = async (): Promise<readonly ClientMethod[]> => {
  globalThis.fetch = noting as typeof fetch
  const all: ClientMethod[] = []
  for (const [client, made] of Object.entries(clients()))
    for (const [name, resource, method] of methodsOf(made, ''))
      all.push({
        client,
        name,
        sent: await requestOf(resource(), name.slice(0, Math.max(name.lastIndexOf('.'), 0)), method),
      })
  return all
}

/** All methods of all clients; found in a process of their own, where what clients throw later hurts nobody. */
export const clientMethods = async (): Promise<readonly ClientMethod[]> => {
  const child = Bun.spawn([process.execPath, import.meta.path], { stdio: ['ignore', 'pipe', 'ignore'] })
  return JSON.parse(await new Response(child.stdout).text())
}

export type Outcome = { readonly here: 'works' | 'refused' | 'local'; readonly how: string }

/** The page of all methods: those of one resource that fare alike are one row. */
export const methodsPage = (all: readonly ClientMethod[], outcomes: readonly Outcome[]): string => {
  const rows = new Map<
    string,
    { readonly client: string; readonly row: readonly string[]; readonly names: string[] }
  >()
  for (const [at, { client, name }] of all.entries()) {
    const { here, how } = outcomes[at] ?? { here: 'works', how: '' }
    const dot = name.lastIndexOf('.')
    const [resource, method] = [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)]
    const key = [client, resource, here, how].join('\n')
    const one = rows.get(key) ?? { client, row: [resource, here, how], names: [] }
    one.names.push(method)
    rows.set(key, one)
  }
  const parts = [...new Set(all.map(({ client }) => client))].flatMap((client) => [
    `## ${client}`,
    '',
    '| resource | methods | here | |',
    '| --- | --- | --- | --- |',
    ...[...rows.values()]
      .filter((one) => one.client === client)
      .map(
        ({ row: [resource, here, how], names }) =>
          `| \`${resource}\` | ${names.join(', ')} | ${here} | ${how} |`,
      ),
    '',
  ])
  return [
    '# Methods of the official clients',
    '',
    'Generated by the test that calls them (`test/clients/client-methods.test.ts`, with `WRITE_COMPATIBILITY=yes`); do not',
    'edit. *works*: the address is answered, by a call or by what it says of a wrong one, such as that there is no file of this',
    'id; lists have the form that the client reads. *refused*: a 400 `not_offered` that says what is here. *local*: the method',
    'sends nothing itself. What each style carries is in [compatibility.md](compatibility.md).',
    '',
    ...parts,
  ].join('\n')
}

if (import.meta.main) {
  process.on('unhandledRejection', () => undefined)
  await Bun.write(Bun.stdout, JSON.stringify(await everyMethod()))
  process.exit(0)
}

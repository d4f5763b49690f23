/**
 * What official clients have and this server does not offer: each is refused by its name, with what to use in its place. A
 * client's author then need not find out by trial.
 */
import { type Refusal, refuse } from '../../core/refusal.ts'

type NotOffered = {
  /**
   * Addresses below any version (`/v1`, `/v1beta`, `/v2`, …), or below the one they begin with, and all that is under them,
   * unless they end in `$`; with a method, for that alone. One that begins with a colon is the end of an address; a `*` stands for an id.
   */
  readonly at: readonly string[]
  readonly what: string
  readonly instead: string
}

const STATE = "a conversation is kept by 'previous_response_id' or /v1/conversations with /v1/responses"
const OWN = 'run it yourself, and give its results as those of a tool'
const WITH_CALL = 'send the content with the call'

const families: readonly NotOffered[] = [
  { at: ['assistants', 'threads'], what: 'Assistants', instead: STATE },
  { at: ['chatkit'], what: 'ChatKit', instead: STATE },
  {
    at: ['vector_stores', 'fileSearchStores', 'corpora', 'ragStores'],
    what: 'Stores that are searched',
    instead: 'keep the vectors of /v1/embeddings yourself, and send what you find in them with the call',
  },
  {
    at: ['fine_tuning', 'finetuning', 'tunedModels', 'datasets', 'connectors', 'cloud'],
    what: 'Training',
    instead: 'train at the vendor with a key of your own',
  },
  {
    at: ['evals'],
    what: 'Evaluations',
    instead: 'ask each question with /v1/chat/completions and compare the answers',
  },
  {
    at: [
      'containers',
      'environments',
      'skills',
      'agents',
      'triggers',
      'sessions',
      'deployments',
      'deployment_runs',
      'dreams',
      'tunnels',
    ],
    what: 'Machines and agents at the vendor',
    instead: OWN,
  },
  {
    at: ['vaults', 'credentials', 'memory_stores', 'user_profiles'],
    what: 'What agents at the vendor store',
    instead: OWN,
  },
  {
    at: ['v2/batches', 'v2/embed-jobs'],
    what: "A batch in Cohere's form",
    instead: 'use /v1/batches, /v1/messages/batches or <model>:batchGenerateContent',
  },
  {
    at: [':asyncBatchEmbedContent'],
    what: 'A batch of embeddings in this form',
    instead: 'use /v1/batches with the endpoint /v1/embeddings, or :batchEmbedContents',
  },
  {
    at: ['videos/*/remix', 'videos/edits', 'videos/extensions', 'videos/characters'],
    what: 'A change of a film, and a character',
    instead: "POST /v1/videos makes a film of a prompt and an image ('input_reference')",
  },
  {
    at: ['models/*/operations'],
    what: 'An operation by its name',
    instead:
      'GET /v1/run/<id> tells how a job is, and <model>:fetchPredictOperation in the form of Vertex AI',
  },
  {
    at: ['realtime', 'live', 'auth_tokens'],
    what: 'Speech in real time',
    instead: 'turns of text go over the WebSocket /v1/responses; /v1/audio has speech and transcription',
  },
  {
    at: ['complete', 'generate'],
    what: 'Completion of a text',
    instead: 'use /v1/chat/completions',
  },
  {
    at: ['GET chat/completions', 'POST chat/completions/', 'DELETE chat/completions'],
    what: 'Stored chat completions',
    instead: 'answers are stored by /v1/responses',
  },
  {
    at: ['DELETE models', 'PATCH models', 'PUT models'],
    what: 'A change of a model',
    instead: "names of your own are the 'aliases' of a key (PUT /v1/key/wholesale/me/limits)",
  },
  { at: ['images/variations'], what: 'Variations', instead: 'use /v1/images/edits with a prompt' },
  {
    at: ['audio/voices', 'audio/voice_consents', 'voices'],
    what: 'A voice of your own',
    instead: "name one of the voices in the model's description",
  },
  {
    at: ['webhook_endpoints', 'webhook_event_types', 'webhooks'],
    what: 'An address for events',
    instead: "give 'webhook' with POST /v1/run, or read the answer until it has ended",
  },
  {
    at: ['decisions', 'safety', 'content_provenance_checks', 'classify', 'summarize', 'systemone'],
    what: 'The judgement of a vendor',
    instead: 'ask a model for it with a JSON schema; /v1/moderations checks texts',
  },
  { at: ['cachedContents'], what: 'A stored context', instead: `it is billed by its time: ${WITH_CALL}` },
  {
    at: [
      'upload/*/fileSearchStores',
      ':uploadToFileSearchStore',
      'upload/*/environments',
      'files:register',
      'v1alpha/files',
    ],
    what: 'This place of files',
    instead: 'upload them to /upload/v1beta/files, and name their address in the call',
  },
  {
    at: ['tokenize', 'detokenize'],
    what: 'The tokens of a text',
    instead: 'POST /v1/responses/input_tokens counts them',
  },
  {
    at: ['chat$', 'embed$', 'v2/audio', 'v2/parse', 'embed-jobs', 'check-api-key'],
    what: "Cohere's address",
    instead: 'use /v2/chat, /v2/embed, /v2/rerank or /v1/audio/transcriptions',
  },
  {
    at: ['api/pull', 'api/push', 'api/create', 'api/copy', 'api/delete', 'api/blobs'],
    what: "A model's file",
    instead: 'models are at their vendors; GET /api/tags lists them',
  },
  {
    at: ['organization', 'organizations', 'projects', 'compliance'],
    what: "The administration of a vendor's account",
    instead: 'keys, limits and spending are in the control plane (docs/control.md)',
  },
]

const known: ReadonlyMap<string, NotOffered> = new Map(
  families.flatMap((family) => family.at.map((at) => [at, family] as const)),
)

/** A version of an API, or the place of uploads or of Ollama's interface, at the beginning of a path. */
const VERSION = /^\/(?:v\d\w*\/|(?=(?:upload|api)\/))/

/** The Refusal of what is not offered by name; undefined for any other address. */
export const notOffered = (method: string, path: string): Refusal | undefined => {
  if (!VERSION.test(path)) return undefined
  const parts = path.replace(VERSION, '').split('/')
  const two = parts.slice(0, 2).join('/')
  const [one = ''] = parts
  const whole = parts.length === 1 ? [`${one}$`] : []
  const below = parts.length > 2 ? [`${method} ${two}/`, `${one}/*/${parts[2]}`] : []
  const versioned = path.split('/').slice(1, 3).join('/')
  const verb = path.slice(path.lastIndexOf(':'))
  const all = [versioned, verb, ...below, `${method} ${two}`, two, ...whole, `${method} ${one}`, one]
  const found = all.find((at) => known.has(at))
  const family = found === undefined ? undefined : known.get(found)
  return (
    family &&
    refuse(
      'not_offered',
      `${family.what} (${method} ${path.slice(0, 80)}) is not offered here: ${family.instead}.`,
    )
  )
}

/**
 * How vendors handle what they are sent, as their public documents say: whether they keep it, train on it, and where they
 * process it. docs/conditions.md is made from this table. What is not here is not known, and meets no condition; nor does
 * what could not be read in the vendor's own document (`verified: false`), unless the operator states it.
 */
import type { Region, Standing } from '../tenancy/conditions.ts'

type Source = {
  readonly source: string
  /** The day on which the source was read. */
  readonly read: string
  readonly verified?: false
  readonly note?: string
}

export type Said<T> = Source & { readonly says: T }

export type VendorHandling = {
  readonly zdr?: Said<Standing>
  readonly noTraining?: Said<Standing>
  /** Where hosts of the vendor process, by the name of the host. */
  readonly hosts?: Said<Readonly<Record<string, Region>>>
}

const READ = '2026-11-26'
const said = <T>(says: T, source: string, more: Omit<Partial<Source>, 'source' | 'read'> = {}): Said<T> => ({
  says,
  source,
  read: READ,
  ...more,
})

const OPENAI = 'https://developers.openai.com/api/docs/guides/your-data'
const ANTHROPIC = 'https://platform.claude.com/docs/en/manage-claude/api-and-data-retention'
const GEMINI = 'https://ai.google.dev/gemini-api/docs/zdr'
const VERTEX = 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/resources/zero-data-retention'
const AZURE = 'https://learn.microsoft.com/en-us/legal/cognitive-services/openai/data-privacy'
const BEDROCK = 'https://docs.aws.amazon.com/bedrock/latest/userguide/data-retention.html'
const PERPLEXITY = 'https://docs.perplexity.ai/docs/resources/privacy-security'
const XAI = 'https://docs.x.ai/developers/faq/security'
const TOGETHER = 'https://docs.together.ai/docs/zero-data-retention'
const OPENROUTER = 'https://openrouter.ai/docs/guides/privacy/zdr'
const DEEPGRAM = 'https://developers.deepgram.com/trust-security/your-data'
const ASSEMBLYAI = 'https://www.assemblyai.com/docs/data-retention-and-model-training'

export const vendorHandling: Readonly<Record<string, VendorHandling>> = {
  local: {
    zdr: said('yes', 'docs/local-products.md', { note: 'made by this server' }),
    noTraining: said('yes', 'docs/local-products.md', { note: 'made by this server' }),
  },
  openai: {
    zdr: said('on_request', OPENAI, { note: 'with approval, for an organisation or a project' }),
    noTraining: said('yes', OPENAI, { note: 'unless the account opted in' }),
    hosts: said(
      { 'eu.api.openai.com': 'eu', 'us.api.openai.com': 'us' },
      'https://developers.openai.com/api/docs/guides/data-residency',
      { note: 'for keys of projects of that region' },
    ),
  },
  anthropic: {
    zdr: said('on_request', ANTHROPIC),
    noTraining: said('yes', ANTHROPIC, { note: 'unless the account permits it' }),
  },
  google: {
    zdr: said('on_request', GEMINI, { note: 'with approval, for a project' }),
    noTraining: said('on_request', GEMINI, { note: 'for paid services alone' }),
  },
  vertex: {
    zdr: said('on_request', VERTEX, { note: 'what keeps data is turned off for the project' }),
    noTraining: said('yes', VERTEX, { note: 'unless the customer permits it' }),
  },
  azure: {
    zdr: said('on_request', AZURE, { note: 'with modified abuse monitoring' }),
    noTraining: said('yes', AZURE),
  },
  bedrock: {
    zdr: said('on_request', BEDROCK, { note: 'by model; the mode `none` for an account or project' }),
    noTraining: said('yes', 'https://docs.aws.amazon.com/bedrock/latest/userguide/data-protection.html', {
      verified: false,
    }),
    hosts: said(
      {
        'bedrock-runtime.us-east-1.amazonaws.com': 'us',
        'bedrock-runtime.us-east-2.amazonaws.com': 'us',
        'bedrock-runtime.us-west-1.amazonaws.com': 'us',
        'bedrock-runtime.us-west-2.amazonaws.com': 'us',
        'bedrock-runtime.eu-central-1.amazonaws.com': 'de',
        'bedrock-runtime.eu-west-1.amazonaws.com': 'ie',
        'bedrock-runtime.eu-west-2.amazonaws.com': 'uk',
        'bedrock-runtime.eu-west-3.amazonaws.com': 'eu',
        'bedrock-runtime.eu-north-1.amazonaws.com': 'eu',
        'bedrock-runtime.eu-south-1.amazonaws.com': 'eu',
        'bedrock-runtime.eu-south-2.amazonaws.com': 'eu',
      },
      'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-how.html',
      {
        note: 'base models; inference profiles `us.` and `eu.` stay in that geography, others may go anywhere',
      },
    ),
  },
  mistral: {
    zdr: said('on_request', 'https://docs.mistral.ai/admin/monitor-comply/zero-data-retention'),
    noTraining: said(
      'on_request',
      'https://help.mistral.ai/en/articles/455207-can-i-opt-out-of-my-input-or-output-data-being-used-for-training',
      { note: 'for paid plans, or by opting out' },
    ),
    hosts: said(
      { 'api.eu.mistral.ai': 'eu', 'api.us.mistral.ai': 'us' },
      'https://docs.mistral.ai/studio/regional-inference',
    ),
  },
  groq: {
    zdr: said('on_request', 'https://console.groq.com/docs/your-data', { note: 'in the data controls' }),
  },
  xai: {
    zdr: said('on_request', XAI),
    noTraining: said('yes', XAI, { note: 'unless the account permits it' }),
    hosts: said({ 'us.api.x.ai': 'us' }, 'https://docs.x.ai/developers/advanced-api-usage/regions'),
  },
  together: {
    zdr: said('on_request', TOGETHER, { note: 'in the settings of the organisation' }),
    noTraining: said('yes', TOGETHER, { note: 'unless the account opted in' }),
  },
  fireworks: {
    zdr: said('yes', 'https://docs.fireworks.ai/guides/security_compliance/data_handling', {
      note: 'open models, which are those that are sold here',
    }),
  },
  perplexity: { zdr: said('yes', PERPLEXITY), noTraining: said('yes', PERPLEXITY) },
  openrouter: {
    zdr: said('on_request', OPENROUTER, { note: 'in the settings of the account; it calls other vendors' }),
    noTraining: said('on_request', OPENROUTER),
  },
  elevenlabs: {
    zdr: said('on_request', 'https://elevenlabs.io/docs/eleven-api/resources/zero-retention-mode'),
  },
  cartesia: { zdr: said('on_request', 'https://docs.cartesia.ai/enterprise/zero-data-retention') },
  deepgram: {
    zdr: said('on_request', DEEPGRAM, { note: 'for an account that opted out of model improvement' }),
    noTraining: said('on_request', DEEPGRAM, { note: 'as before' }),
    hosts: said({ 'api.eu.deepgram.com': 'eu' }, DEEPGRAM, {
      verified: false,
      note: 'what is kept for model improvement may leave the region',
    }),
  },
  assemblyai: {
    zdr: said('no', 'https://assemblyai.com/docs/faq/does-assemblyai-offer-zero-data-retention'),
    noTraining: said('on_request', ASSEMBLYAI, { note: 'by opting out' }),
    hosts: said(
      { 'api.assemblyai.com': 'us', 'api.eu.assemblyai.com': 'eu' },
      'https://www.assemblyai.com/docs/deployment/available-cloud-regions',
    ),
  },
  bfl: {
    hosts: said(
      { 'api.eu.bfl.ai': 'eu', 'api.us.bfl.ai': 'us' },
      'https://docs.bfl.ai/quick_start/generating_images',
    ),
  },
}

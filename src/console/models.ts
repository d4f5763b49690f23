/** The models on sale, and the key of the playground. */
import { refuse } from '../core/refusal.ts'
import { modelListing } from '../products/model-listing.ts'
import { inputSchemaOf } from '../products/schema.ts'
import { actorOf, type ConsoleRoute, type Here, type Reply, type Within, within } from './here.ts'
import { makeKey, walletOf } from './make-key.ts'
import { usdOf } from './read.ts'
import { playKey } from './schema/keys.ts'
import { modelInputs, models } from './schema/reports.ts'

const pricesIn = (pricing: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(pricing).flatMap(([name, price]) =>
      name.startsWith('per_1m_') && typeof price === 'string' ? [[name.slice(7, -4), price]] : [],
    ),
  )

const listModels = async ({ gateway }: Here): Promise<Reply> => ({
  value: {
    data: gateway.offering.catalogue.list().map((model) => {
      const { id, owned_by, category, pricing, coming, context_length, max_output_tokens, capabilities } =
        modelListing(model, gateway.options.creditNano)
      return {
        id,
        vendor: owned_by,
        category,
        context_length,
        max_output_tokens,
        capabilities,
        prices: pricesIn(pricing),
        coming: coming === undefined ? null : { from: coming.from, prices: pricesIn(coming.pricing) },
        unit: pricing.unit,
        aliases: model.aliases ?? [],
      }
    }),
  },
})

/** What a run of the model takes: the same description that checks its calls. */
const getInputs = async ({ gateway, request }: Here): Promise<Reply> => {
  const model = gateway.offering.catalogue.find(request.query.get('model') ?? '')
  if (model === undefined) throw refuse('not_found', 'There is no such model.')
  return { value: { model: model.id, input_schema: inputSchemaOf(model) } }
}

const PLAY_CAP = 500_000_000n
const PLAY_MS = 60 * 60_000

const labelOf = ({ session }: Within): string => `Playground of ${session.email}`

/** This person's existing keys of the playground. */
const playKeys = async (here: Within) =>
  (
    await here.gateway.store.reports.keys({
      orgId: here.session.orgId,
      which: 'own',
      madeBy: here.session.personId,
      search: labelOf(here),
      most: 20,
    })
  ).filter(({ key }) => key.label === labelOf(here))

/** A key for the page alone: capped, and deleted after an hour or when the next one is made. */
const makePlayKey = async (context: Here): Promise<Reply> => {
  const here = within(context)
  const { book, clock, log } = here.gateway
  const actor = actorOf(here)
  for (const { key } of await playKeys(here)) await book.deleteKey(key.id, true, actor)
  const made = await makeKey(here, await walletOf(here), {
    label: labelOf(here),
    limits: { spendCap: PLAY_CAP, canManage: false },
  })
  const end = async () => {
    await clock.sleep(PLAY_MS)
    await book.deleteKey(made.id, true, actor)
  }
  end().catch((error: unknown) =>
    log.warn('a key of the playground was not deleted', { error: String(error) }),
  )
  return { value: { id: made.id, key: made.key, spend_cap_usd: usdOf(PLAY_CAP) }, status: 201 }
}

export const modelRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/models',
    summary: 'The models that are sold, with their prices.',
    audience: 'person',
    answer: models,
    handler: listModels,
  },
  {
    method: 'GET',
    path: '/model-inputs',
    summary: 'What a run of the model `model` takes, as JSON schema.',
    audience: 'person',
    query: ['model'],
    answer: modelInputs,
    handler: getInputs,
  },
  {
    method: 'POST',
    path: '/playground/key',
    summary: 'A key for the playground: capped at 0.5 USD, and deleted after an hour.',
    audience: ['play'],
    answer: playKey,
    statuses: [201],
    handler: makePlayKey,
  },
]

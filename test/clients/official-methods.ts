/**
 * Every method of the official client for responses and conversations: what it does here. The page of compatibility shows
 * the table, and official-methods.test.ts runs each row, and finds methods that have none.
 */
import type OpenAI from 'openai'

/** What a row works with: a client, a model, and a conversation and a response that exist. */
export type Rig = {
  readonly client: OpenAI
  readonly model: string
  readonly conversation: string
  readonly response: string
}

type Row = {
  /** A method that does not work is refused by its name. */
  readonly here: 'works' | 'refused'
  readonly how: string
  readonly run: (rig: Rig) => PromiseLike<unknown>
}

const text = { type: 'message', role: 'user', content: 'hi' } as const

export const officialMethods: Readonly<Record<string, Row>> = {
  'responses.create': {
    here: 'works',
    how: 'whole, as a stream, in a conversation, in the background',
    run: ({ client, model, conversation }) =>
      client.responses.create({ model, conversation, background: true, input: 'hi' }),
  },
  'responses.stream': {
    here: 'works',
    how: 'from the start; one in the background also from any event on',
    run: ({ client, model }) => client.responses.stream({ model, input: 'hi' }).finalResponse(),
  },
  'responses.parse': {
    here: 'works',
    how: 'with the formats of `text.format`',
    run: ({ client, model }) => client.responses.parse({ model, input: 'hi' }),
  },
  'responses.retrieve': {
    here: 'works',
    how: 'with `stream` and `starting_after` for one in the background; `include` changes nothing, all that is kept is there',
    run: ({ client, response }) =>
      client.responses.retrieve(response, { include: ['reasoning.encrypted_content'] }),
  },
  'responses.cancel': {
    here: 'works',
    how: 'for one in the background; another one is a 400',
    run: ({ client, response }) => client.responses.cancel(response),
  },
  'responses.delete': {
    here: 'works',
    how: 'one that is being made is stopped',
    run: async ({ client, model }) =>
      client.responses.delete((await client.responses.create({ model, input: 'hi' })).id),
  },
  'responses.compact': {
    here: 'works',
    how: 'its window is sent with the next request',
    run: ({ client, model }) => client.responses.compact({ model: model as never, input: 'hi' }),
  },
  'responses.inputItems.list': {
    here: 'works',
    how: 'with `order`, `limit`, `after` and `include`',
    run: ({ client, response }) => client.responses.inputItems.list(response, { limit: 1 }),
  },
  'responses.inputTokens.count': {
    here: 'works',
    how: 'free, also for a conversation',
    run: ({ client, model, conversation }) =>
      client.responses.inputTokens.count({ model, conversation, input: 'hi' }),
  },
  'conversations.create': {
    here: 'works',
    how: 'with up to 20 items',
    run: ({ client }) => client.conversations.create({ items: [text], metadata: { topic: 'x' } }),
  },
  'conversations.retrieve': {
    here: 'works',
    how: '',
    run: ({ client, conversation }) => client.conversations.retrieve(conversation),
  },
  'conversations.update': {
    here: 'works',
    how: 'replaces the metadata',
    run: ({ client, conversation }) => client.conversations.update(conversation, { metadata: {} }),
  },
  'conversations.delete': {
    here: 'works',
    how: 'with its items',
    run: async ({ client }) => client.conversations.delete((await client.conversations.create()).id),
  },
  'conversations.items.create': {
    here: 'works',
    how: 'up to 20 at once',
    run: ({ client, conversation }) =>
      client.conversations.items.create(conversation, {
        items: [text],
        include: ['reasoning.encrypted_content'],
      }),
  },
  'conversations.items.list': {
    here: 'works',
    how: 'with `order`, `limit`, `after` and `include`',
    run: ({ client, conversation }) => client.conversations.items.list(conversation),
  },
  'conversations.items.retrieve': {
    here: 'works',
    how: '',
    run: async ({ client, conversation }) =>
      client.conversations.items.retrieve(await itemOf(client, conversation), {
        conversation_id: conversation,
      }),
  },
  'conversations.items.delete': {
    here: 'works',
    how: '',
    run: async ({ client, conversation }) =>
      client.conversations.items.delete(await itemOf(client, conversation), {
        conversation_id: conversation,
      }),
  },
}

const itemOf = async (client: OpenAI, conversation: string): Promise<string> => {
  const { data } = await client.conversations.items.create(conversation, { items: [text] })
  return data[0]?.id ?? ''
}

/** The part of the page of compatibility. */
export const officialMethodsPart = (version: string): string =>
  [
    '## Methods of the official client',
    '',
    `Each method of \`openai\` ${version} for responses and conversations, where \`RESPONSES_STORE\` is above 0`,
    '(`test/clients/official-methods.test.ts`).',
    '',
    '| method | here | |',
    '| --- | --- | --- |',
    ...Object.entries(officialMethods).map(([name, { here, how }]) => `| \`${name}\` | ${here} | ${how} |`),
    '',
  ].join('\n')

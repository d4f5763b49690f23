/** The addresses of conversations and their items. */
import { withBody } from '../request/with-body.ts'
import { byKey, type Route } from '../route/route.ts'
import { item, itemList } from '../schema/calls.ts'
import {
  conversation,
  conversationChange,
  deletedConversation,
  itemsToAdd,
  newConversation,
} from '../schema/conversations.ts'
import {
  addItems,
  changeConversation,
  createConversation,
  deleteConversation,
  deleteItem,
  getConversation,
  getItem,
  listItems,
} from './conversations.ts'
import { listQuery } from './item-lists.ts'

const one = '/v1/conversations/:id'
const oneItem = `${one}/items/:item`

export const conversationRoutes: readonly Route[] = [
  withBody({
    ...byKey('POST /v1/conversations'),
    summary:
      'Makes a conversation, which responses name in `conversation`; kept only if RESPONSES_STORE says so.',
    body: newConversation,
    large: true,
    answer: conversation,
    handler: createConversation,
  }),
  {
    method: 'GET',
    path: one,
    summary: 'A conversation of this key, without its items.',
    auth: 'bearer',
    answer: conversation,
    handler: getConversation,
  },
  withBody({
    method: 'POST',
    path: one,
    summary: 'Replaces the metadata of a conversation.',
    auth: 'bearer',
    body: conversationChange,
    answer: conversation,
    handler: changeConversation,
  }),
  {
    method: 'DELETE',
    path: one,
    summary: 'Deletes a conversation with its items.',
    auth: 'bearer',
    answer: deletedConversation,
    handler: deleteConversation,
  },
  withBody({
    method: 'POST',
    path: `${one}/items`,
    summary: 'Adds items at the end of a conversation, and lists them.',
    auth: 'bearer',
    body: itemsToAdd,
    large: true,
    answer: itemList,
    query: ['include'],
    handler: addItems,
  }),
  {
    method: 'GET',
    path: `${one}/items`,
    summary: 'The items of a conversation, the last first unless `order=asc`.',
    auth: 'bearer',
    answer: itemList,
    query: listQuery,
    handler: listItems,
  },
  {
    method: 'GET',
    path: oneItem,
    summary: 'One item of a conversation.',
    auth: 'bearer',
    answer: item,
    query: ['include'],
    handler: getItem,
  },
  {
    method: 'DELETE',
    path: oneItem,
    summary: 'Takes an item out of a conversation, and returns that.',
    auth: 'bearer',
    answer: conversation,
    handler: deleteItem,
  },
]

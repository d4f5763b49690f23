/** Routes of assets: reading one, by its address or with its key, and deleting one. */

import { byKey, type Route } from '../route/route.ts'
import { assetBytes, deletedAsset } from '../schema/media.ts'
import { deleteAsset, getAsset } from './assets.ts'

export const assetRoutes: readonly Route[] = [
  {
    ...byKey('GET /v1/assets/:name'),
    summary:
      'The bytes of an asset, whole or a range of them: by its signed address with no key, or for its key and those above it. A 302 if they are in a bucket.',
    answer: assetBytes,
    answerType: '*/*',
    headers: ['Range', 'If-Range', 'If-None-Match'],
    query: ['exp', 'sig'],
    handler: getAsset,
  },
  {
    ...byKey('DELETE /v1/assets/:name'),
    summary: 'Deletes an asset of the key, or of a key below it, at once and for everybody.',
    answer: deletedAsset,
    handler: deleteAsset,
  },
]

/** Replicate: many makers' models; see media.ts and models.ts. */
import { noChat } from '../no-chat.ts'
import type { Vendor } from '../vendor.ts'
import { replicateModels } from './models.ts'

export const replicate = {
  ...noChat,
  id: 'replicate',
  name: 'Replicate',
  keyVariable: 'REPLICATE_API_TOKEN',
  baseUrl: 'https://api.replicate.com/v1',
  media: {
    models: replicateModels,
    unverified: 'bodies of errors, how long results are kept, all inputs of the models',
    waiting: [
      { name: 'models of the community', why: 'billed by running time, which no input bounds' },
      {
        name: 'other official models',
        why: 'each has its price on a page of its own, which we have not read',
      },
    ],
  },
} satisfies Vendor

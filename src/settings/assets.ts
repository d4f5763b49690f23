/** Settings of results that are stored here: where, for how long, how many, and at which address. */
import { duration, integer, matching, secret, unshown } from './form.ts'
import type { SettingGroup } from './setting.ts'

const origin = () => matching(/^https?:\/\/[^\s/@?#]+$/, 'an address without a path')

export const assetSettings = {
  publicUrl: {
    name: 'PUBLIC_URL',
    is: origin(),
    meaning:
      'The public address of this server, such as https://gate.example.com: addresses of assets and in descriptors of products begin with it. Without it, addresses of assets name localhost, and the others the address of the request.',
  },
  place: {
    name: 'ASSETS',
    is: matching(
      /^(?!\w+:\/\/).+$|^s3:\/\/[a-z0-9][a-z0-9.-]{1,62}(\/[\w-]+)*\/?$/,
      'a path or s3://<bucket>/<prefix>',
    ),
    fallback: './data/assets',
    meaning:
      'Where results of calls (images, sounds, films) are stored: a folder, or a bucket `s3://<bucket>/<prefix>`, which servers on several machines need.',
  },
  endpoint: {
    name: 'ASSETS_ENDPOINT',
    is: origin(),
    meaning:
      "Address of the bucket's server, which callers must be able to reach too, because they are sent there for the bytes. Amazon S3 when it is not set.",
  },
  region: {
    name: 'ASSETS_REGION',
    is: matching(/^[a-z0-9-]+$/, 'a region such as eu-central-1'),
    meaning: 'Region of the bucket.',
  },
  keyId: {
    name: 'ASSETS_KEY_ID',
    is: unshown(/^\S+$/, 'an access key id'),
    meaning: 'Access key id of the bucket.',
  },
  secret: {
    name: 'ASSETS_SECRET',
    is: secret(/^\S+$/, 'a secret access key'),
    meaning: 'Secret access key of the bucket.',
  },
  bytesMax: {
    name: 'ASSETS_MAX_BYTES',
    is: integer(0, 999_999_999_999_999, 'bytes'),
    fallback: '20000000000',
    meaning:
      'The most bytes of all assets together. When this is reached, or the disk has less than 1 GB free, calls whose results must be stored are refused with 503 before a vendor is asked.',
  },
  lifeMs: {
    name: 'ASSET_DAYS',
    is: duration('days', 1, 9_999),
    fallback: '7',
    meaning: 'Days that an asset is kept.',
  },
  uploadLifeMs: {
    name: 'UPLOAD_DAYS',
    is: duration('days', 1, 9_999),
    fallback: '1',
    meaning: 'Days that a file of `POST /v1/files` is kept.',
  },
  uploadBytesMax: {
    name: 'UPLOAD_BYTES_MAX',
    is: integer(1, 999_999_999_999, 'bytes'),
    fallback: '209715200',
    meaning: 'Largest file of `POST /v1/files`.',
  },
  uploadsKeyBytesMax: {
    name: 'UPLOADS_KEY_BYTES_MAX',
    is: integer(0, 999_999_999_999_999, 'bytes'),
    fallback: '1000000000',
    meaning:
      'The most bytes of the files of one key together; the files of all keys may take half of ASSETS_MAX_BYTES.',
  },
  addressMs: {
    name: 'ASSET_URL_HOURS',
    is: duration('hours', 1, 9_999),
    fallback: '24',
    meaning:
      'Hours that an address of an asset is valid for whoever has it, but not longer than the asset is kept.',
  },
  origin: {
    name: 'ASSET_ORIGIN',
    is: origin(),
    meaning:
      'Another name of this server that addresses of assets begin with, so that results of vendors are shown under a host without cookies.',
  },
} as const satisfies SettingGroup

/** Settings of backups that go into a bucket, which has credentials of its own. */
import { matching, secret, unshown } from './form.ts'
import type { SettingGroup } from './setting.ts'

export const backupSettings = {
  endpoint: {
    name: 'BACKUP_ENDPOINT',
    is: matching(/^https?:\/\/[^\s/@?#]+$/, 'an address without a path'),
    meaning:
      'Address of the server with the bucket of backups (`turnpike backup s3://…`). Amazon S3 when it is not set.',
  },
  region: {
    name: 'BACKUP_REGION',
    is: matching(/^[a-z0-9-]+$/, 'a region such as eu-central-1'),
    meaning: 'Region of that bucket.',
  },
  keyId: {
    name: 'BACKUP_KEY_ID',
    is: unshown(/^\S+$/, 'an access key id'),
    meaning: 'Access key id of that bucket.',
  },
  secret: {
    name: 'BACKUP_SECRET',
    is: secret(/^\S+$/, 'a secret access key'),
    meaning: 'Secret access key of that bucket.',
  },
} as const satisfies SettingGroup

/** Settings of the keys that organisations have at vendors themselves: what seals them, and what calls by them cost. */
import { bad } from './bad-setting.ts'
import { amount, duration, integer, matching, oneOf, secret } from './form.ts'
import type { SettingGroup, ValuesOf } from './setting.ts'

export const ownKeySettings = {
  feeBasisPoints: {
    name: 'OWN_KEY_FEE_BASIS_POINTS',
    is: integer(0, 10_000),
    fallback: '0',
    meaning:
      "What a call by an organisation's own key costs, in hundredths of a percent of the list price: 500 is 5 %.",
  },
  feePerCall: {
    name: 'OWN_KEY_FEE_USD',
    is: amount(),
    fallback: '0',
    meaning: 'What such a call costs besides, in USD.',
  },
  master: {
    name: 'OWN_KEYS_MASTER',
    is: oneOf('secret', 'aws-kms', 'vault'),
    fallback: 'secret',
    meaning:
      "What wraps the data keys under which organisations' own keys of vendors are sealed: a secret of this server (OWN_KEYS_SECRET), AWS KMS, or the transit engine of Vault. Keys that another one wrapped are opened while its settings are there; `turnpike secret rotate` wraps them anew.",
  },
  secret: {
    name: 'OWN_KEYS_SECRET',
    is: secret(/^.{16,}$/, 'at least 16 characters'),
    meaning: 'The secret that wraps data keys; TURNPIKE_SECRET is used if it is absent.',
  },
  openMs: {
    name: 'OWN_KEYS_OPEN_SECONDS',
    is: duration('seconds', 1, 86_400),
    fallback: '300',
    meaning:
      'How long a process keeps a data key, and the keys that it opened, in its memory: so long do calls by them go on when KMS or Vault is away.',
  },
  kmsKey: {
    name: 'OWN_KEYS_KMS_KEY',
    is: matching(/^arn:[\w-]+:kms:[\w-]+:\d{12}:(key|alias)\/[\w/-]+$/, 'the ARN of a key or alias'),
    meaning: 'The key of AWS KMS; its region is in the ARN.',
  },
  kmsUrl: {
    name: 'AWS_ENDPOINT_URL_KMS',
    is: matching(/^https?:\/\/\S+$/, 'an address'),
    meaning: 'Address of AWS KMS, if it is not the usual one of its region.',
  },
  awsId: {
    name: 'AWS_ACCESS_KEY_ID',
    is: secret(/^\S+$/, 'the id of an access key'),
    meaning: 'Access key for AWS KMS, and for Amazon Bedrock.',
  },
  awsSecret: {
    name: 'AWS_SECRET_ACCESS_KEY',
    is: secret(/^\S+$/, 'the secret of an access key'),
    meaning: 'Its secret.',
  },
  awsSession: {
    name: 'AWS_SESSION_TOKEN',
    is: secret(/^\S+$/, 'a token'),
    meaning: 'Its session token, if it is temporary.',
  },
  vaultUrl: {
    name: 'VAULT_ADDR',
    is: matching(/^https?:\/\/\S+$/, 'an address'),
    meaning: 'Address of Vault.',
  },
  vaultToken: {
    name: 'VAULT_TOKEN',
    is: secret(/^\S+$/, 'a token'),
    meaning: 'Token that may encrypt and decrypt with that key.',
  },
  vaultKey: {
    name: 'OWN_KEYS_VAULT_KEY',
    is: matching(/^[\w.-]+$/, 'the name of a key'),
    meaning: 'The key of the transit engine, such as one of type aes256-gcm96.',
  },
} as const satisfies SettingGroup

export type OwnKeySettings = ValuesOf<typeof ownKeySettings>

/** Throws BadSetting if the settings lack what their master needs. */
export const checkMaster = (set: OwnKeySettings): void => {
  const { awsId, awsSecret, kmsKey, vaultUrl, vaultToken, vaultKey } = set
  if (set.master === 'aws-kms' && (kmsKey === undefined || awsId === undefined || awsSecret === undefined))
    bad('OWN_KEYS_MASTER=aws-kms needs OWN_KEYS_KMS_KEY, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
  if (
    set.master === 'vault' &&
    (vaultUrl === undefined || vaultToken === undefined || vaultKey === undefined)
  )
    bad('OWN_KEYS_MASTER=vault needs VAULT_ADDR, VAULT_TOKEN and OWN_KEYS_VAULT_KEY')
}

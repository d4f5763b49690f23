/**
 * turnpike.yaml: vendors with their own keys and addresses, further models, prices, markup. Strict: anything unknown is
 * an error.
 */
import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { type UsageClass, usageClasses } from '../../core/usage.ts'
import { BadSetting, type Environment } from '../../settings/bad-setting.ts'
import { serverSettings } from '../../settings/server.ts'
import { readSettings } from '../../settings/setting.ts'
import { regionNames } from '../../tenancy/conditions.ts'
import { companiesShape, companyShape } from './companies-config.ts'
import { mediaShape } from './config-media.ts'
import { exportShape } from './export-config.ts'
import { x402Shape } from './x402-config.ts'

const usd = z.union([z.string(), z.number()]).transform(String)
/** A price for a million units of each class, so that whatever a call can cost has its price here. */
const rates = Object.fromEntries(usageClasses.map((one) => [`${one}_usd_per_1m`, usd.optional()])) as {
  readonly [Class in UsageClass as `${Class}_usd_per_1m`]: z.ZodOptional<typeof usd>
}
const prices = {
  ...rates,
  /** Rates for the whole call once its input is longer. */
  tiers: z.array(z.strictObject({ above_input_tokens: z.int().positive(), ...rates })).optional(),
}
const dated = {
  ...prices,
  /** Prices that replace these at a given time. */
  later: z
    .array(
      z.strictObject({
        ...prices,
        from: z
          .string()
          .regex(
            /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?Z)?$/,
            'must be a day such as "2027-01-31", which begins in UTC, or a time such as "2027-01-31T12:00Z"',
          ),
      }),
    )
    .optional(),
}
const model = z.strictObject({
  ...dated,
  upstream_name: z.string().min(1).optional(),
  kind: z.enum(['chat', 'embeddings']).optional(),
  context_tokens: z.int().positive(),
  max_output_tokens: z.int().nonnegative().optional(),
  ends: z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a date such as "2027-01-31"')
    .optional(),
  cheaper_tier: z
    .string()
    .regex(/^[a-z_]{1,32}$/, "must be the vendor's name of a tier, such as flex")
    .optional(),
  capabilities: z
    .array(
      z.enum([
        'streaming',
        'function_calling',
        'vision',
        'audio',
        'reasoning',
        'structured_output',
        'embeddings',
      ]),
    )
    .optional(),
})
/** What the operator states of the account: agreements, and where its calls are processed. */
const handling = z.strictObject({
  zdr: z.boolean().optional(),
  no_training: z.boolean().optional(),
  region: z.enum(regionNames, `must be one of ${regionNames.join(', ')}`).optional(),
})
const vendor = z.strictObject({
  keys: z
    .union([
      z.string().min(1),
      z.array(
        z.union([
          z.string().min(1),
          z.strictObject({
            key: z.string().min(1),
            weight: z.number().positive().max(1_000).optional(),
            priority: z.int().nonnegative().max(999).optional(),
          }),
        ]),
      ),
    ])
    .optional(),
  base_url: z.string().optional(),
  speaks: z.enum(['chat', 'responses', 'messages', 'gemini', 'interactions']).optional(),
  models: z.record(z.string().min(1), model).optional(),
  handling: handling.optional(),
  /** What runs batches of a model, by its name below the vendor's: a deployment at Azure, an account at Fireworks. */
  batches: z
    .record(
      z.string().min(1),
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be a name without blanks and slashes'),
    )
    .optional(),
  /** The bucket that batches read and write, and as whom, at vendors whose batches need one; `models` are all without it. */
  batch: z
    .strictObject({
      bucket: z
        .string()
        .regex(
          /^(?:s3|gs):\/\/[a-z0-9][a-z0-9._-]{1,61}[a-z0-9](?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*)*\/?$/,
          'must be a bucket with a folder, such as s3://bucket/turnpike',
        ),
      role: z
        .string()
        .regex(/^arn:[a-z-]+:iam::\d{12}:role\/\S+$/, 'must be the ARN of a role')
        .optional(),
      endpoint: z.string().optional(),
      models: z.array(z.string().min(1)).optional(),
    })
    .optional(),
})
/** An equal of a model; one that costs more is only used if the file says that it may be. */
const equal = z.union([
  z
    .string()
    .min(1)
    .transform((id) => ({ model: id, dearer: false })),
  z.strictObject({ model: z.string().min(1), dearer: z.boolean().default(false) }),
])
const file = z.strictObject({
  vendors: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,30}$/), vendor).optional(),
  prices: z.record(z.string().min(1), z.strictObject(dated)).optional(),
  aliases: z
    .record(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/, 'must be a name without blanks and slashes'),
      z.string().min(1),
    )
    .optional(),
  media: z.record(z.string().min(1), mediaShape).optional(),
  failover: z.record(z.string().min(1), z.array(equal).min(1)).optional(),
  markup: usd.optional(),
  discount: usd.optional(),
  x402: x402Shape.optional(),
  export: exportShape.optional(),
  companies: companiesShape.optional(),
})

export type ConfigFile = z.infer<typeof file>
export type FileHandling = z.infer<typeof handling>
export type FileBatch = z.infer<typeof vendor>['batch']
export type FileModel = z.infer<typeof model>
export type FilePrices = z.infer<z.ZodObject<typeof dated>>
export type FileEqual = z.infer<typeof equal>

/** Reads the file named by TURNPIKE_CONFIG, or the default file if it exists. Throws BadSetting. */
export const readConfigFile = (environment: Environment): ConfigFile => {
  const path = readSettings(serverSettings.configFile, environment)
  if (!existsSync(path)) {
    if ((environment.TURNPIKE_CONFIG ?? '') !== '')
      throw new BadSetting(`TURNPIKE_CONFIG names '${path}', which does not exist`)
    return {}
  }
  return parseConfigFile(readFileSync(path, 'utf8'), path, environment)
}

/** Parses the file's text; `${NAME}` stands for an environment variable. Throws BadSetting. */
export const parseConfigFile = (text: string, path: string, environment: Environment): ConfigFile => {
  let value: unknown
  try {
    value = parse(text) ?? {}
  } catch (error) {
    throw new BadSetting(
      `${path} is not valid YAML: ${(error instanceof Error ? error.message : '').split('\n')[0]}`,
    )
  }
  const read = file.safeParse(filledIn(value, path, environment), { error: wrongKind })
  if (read.success) return read.data
  throw new BadSetting(
    read.error.issues
      .flatMap(meant)
      .map((issue) => `${path}: ${problemOf(issue)}`)
      .join('\n'),
  )
}

/** Of a value that may have several forms: what is wrong with it in the form that it has, if it has one of them. */
const meant = (issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] => {
  if (issue.code !== 'invalid_union') return [issue]
  const its = issue.errors
    .map((form) => form.flatMap(meant))
    .find((form) => form.every((one) => one.path.length > 0 || !/^invalid_(type|union)$/.test(one.code)))
  return its?.map((one) => ({ ...one, path: [...issue.path, ...one.path] })) ?? [issue]
}

const problemOf = (issue: z.core.$ZodIssue): string => {
  const where = issue.path.length === 0 ? 'the file' : issue.path.join('.')
  // The issue of a record contains what its names must look like.
  const reason = issue.code === 'invalid_key' ? issue.issues[0]?.message : issue.message
  return `${where}: ${reason ?? 'invalid'}${hint(issue)}`
}

const kinds: Readonly<Record<string, string>> = {
  object: 'names with their values',
  record: 'names with their values',
  array: 'a list',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
}

/** The kinds of which a value is none. */
const kindsOf = (issue: z.core.$ZodRawIssue | z.core.$ZodIssue): readonly string[] => {
  if (issue.code === 'invalid_union') return issue.errors.flatMap((form) => form.flatMap(kindsOf))
  return issue.code === 'invalid_type' ? [kinds[issue.expected] ?? issue.expected] : []
}

/** What a value must be, in the words of who writes the file. */
const wrongKind = (issue: z.core.$ZodRawIssue): string | undefined => {
  const expected = kindsOf(issue).join(' or ')
  if (expected === '') return undefined
  if (issue.input === undefined) return 'is missing'
  const found = kinds[Array.isArray(issue.input) ? 'array' : typeof issue.input]
  return `must be ${expected}${issue.input === null ? ', not empty' : found === undefined || found === expected ? '' : `, not ${found}`}`
}

/** The members that there are, by where they stand. */
const places = Object.entries({
  'the file itself': file.shape,
  'vendors.<vendor>': vendor.shape,
  'vendors.<vendor>.handling': handling.shape,
  'vendors.<vendor>.models.<model>': model.shape,
  'prices.<model>': dated,
  'an entry of later': { from: '' },
  'media.<product>': mediaShape.shape,
  x402: x402Shape.shape,
  export: exportShape.shape,
  'companies.<company>': companyShape.shape,
}).map(([where, shape]) => ({ where, names: Object.keys(shape) }))

const hint = (issue: z.core.$ZodIssue): string => {
  if (issue.code !== 'unrecognized_keys') return ''
  const stranger = issue.keys[0] ?? ''
  const homes = places.filter(({ names }) => names.includes(stranger)).map(({ where }) => where)
  if (homes.length > 0) return `; it belongs to ${homes.join(' or ')}`
  const near = places
    .flatMap(({ names }) => names)
    .map((name) => ({ name, shared: sharedLetters(name, stranger) }))
    .sort((a, b) => b.shared - a.shared)[0]
  return near !== undefined && near.shared >= stranger.length * 0.6 ? `; did you mean '${near.name}'?` : ''
}

const sharedLetters = (a: string, b: string): number => {
  let shared = 0
  for (const letter of new Set(b))
    if (a.includes(letter)) shared += Math.min(a.split(letter).length, b.split(letter).length) - 1
  return shared - Math.abs(a.length - b.length)
}

const filledIn = (
  value: unknown,
  path: string,
  environment: Environment,
  around: readonly unknown[] = [],
): unknown => {
  if (around.includes(value)) throw new BadSetting(`${path}: an alias stands inside what it names`)
  if (typeof value === 'string')
    return value.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_all, name: string) => {
      const found = environment[name]
      if (found === undefined) throw new BadSetting(`${path}: the environment variable ${name} is not set`)
      return found
    })
  const inside = [...around, value]
  if (Array.isArray(value)) return value.map((each) => filledIn(each, path, environment, inside))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, filledIn(member, path, environment, inside)]),
    )
  return value
}

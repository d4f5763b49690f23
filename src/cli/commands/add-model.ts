/** `turnpike models add`: writes a model that no price table has yet, with the operator's price, into turnpike.yaml. */
import { existsSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { type Document, isMap, parseDocument } from 'yaml'
import type { Environment } from '../../settings/bad-setting.ts'
import { type Config, readConfig } from '../config/config.ts'
import { dropsBetween } from '../config/config-drops.ts'
import { parseConfigFile } from '../config/config-file.ts'
import { openCatalogue } from '../config/open-catalogue.ts'
import { Failed, print, under } from '../run/run-command.ts'

type AddOptions = {
  readonly input?: string
  readonly output?: string
  readonly cacheRead?: string
  readonly cacheWrite?: string
  readonly cacheWrite1h?: string
  readonly call?: string
  readonly context?: string
  readonly maxOutput?: string
  readonly kind?: string
  readonly upstreamName?: string
  readonly capabilities?: string
  readonly above?: string
  readonly inputAbove?: string
  readonly outputAbove?: string
  readonly cacheReadAbove?: string
  readonly cheaperTier?: string
  readonly ends?: string
  readonly replace?: boolean
  readonly json?: boolean
}

/** Asks one question; undefined if there is no terminal to answer it. */
export type Prompt = ((question: string) => Promise<string>) | undefined

export const addModelCommand = (models: Command): void => {
  under(models, 'add', 'add a model with your price to turnpike.yaml; it asks for what is missing')
    .argument('<vendor/model>', 'its id, such as openai/gpt-next')
    .option('--input <usd>', 'USD for a million tokens of input')
    .option('--output <usd>', 'USD for a million tokens of output')
    .option('--cache-read <usd>', 'the same for input read from the cache')
    .option('--cache-write <usd>', 'the same for input written to the cache')
    .option('--cache-write-1h <usd>', 'the same for input written to the cache for an hour')
    .option('--call <usd>', 'USD for a million calls')
    .option('--context <tokens>', 'input and output that it can hold')
    .option('--max-output <tokens>', 'its longest answer')
    .option('--above <tokens>', 'tokens of input above which the whole call has the prices that follow')
    .option('--input-above <usd>', 'input above it')
    .option('--output-above <usd>', 'output above it')
    .option('--cache-read-above <usd>', 'cached input above it')
    .option('--kind <kind>', 'chat or embeddings (default: chat)')
    .option('--capabilities <names>', 'such as vision,reasoning,function_calling,streaming')
    .option('--upstream-name <name>', 'what the vendor calls it, if that is not its name here')
    .option('--cheaper-tier <tier>', "the vendor's cheaper tier, such as flex, to sell it at a discount too")
    .option('--ends <date>', 'the day from which it is no longer sold')
    .option('--replace', 'replace a model that is already sold')
    .option('--json', 'for programs')
    // The command `models` has its own --json.
    .action(async (id: string, _own: AddOptions, command: Command) => {
      const options: AddOptions = command.optsWithGlobals()
      const terminal = process.stdin.isTTY
        ? createInterface({ input: process.stdin, output: process.stderr })
        : undefined
      try {
        const ask: Prompt = terminal && ((question) => terminal.question(question))
        await addModel(process.env, { id, options, ask })
      } finally {
        terminal?.close()
      }
    })
}

type Adding = { readonly id: string; readonly options: AddOptions; readonly ask: Prompt }

/** Writes the model into the file and reports its price. If it throws Failed or BadSetting, it has written nothing. */
export const addModel = async (environment: Environment, { id, options, ask }: Adding): Promise<void> => {
  const [vendor = '', ...rest] = id.split('/')
  const name = rest.join('/')
  if (vendor === '' || name === '' || vendor === 'local')
    throw new Failed(`'${id}' must be <vendor>/<model>, such as openai/gpt-next`)
  const before = readConfig(environment)
  const opened = await openCatalogue(before)
  if (options.replace !== true && opened.catalogue.find(id) !== undefined)
    throw new Failed(`${id} is already sold; --replace replaces it`)
  const model = await membersOf(id, options, ask)
  const path = before.configFile
  const text = withModel(existsSync(path) ? readFileSync(path, 'utf8') : '', { vendor, name, model })
  const config = readConfig(environment, parseConfigFile(text, path, environment))
  const added = (await openCatalogue(config)).catalogue.find(id)
  replaceFile(path, text)
  print(
    options.json,
    { id, file: path, sold: added !== undefined },
    `${id} is in ${path}. ${added === undefined ? whyNotSold(config, vendor) : whenSold(before, config)}\n`,
  )
}

/** A running server takes nothing away by itself. */
const whenSold = (before: Config, config: Config): string => {
  const drops = dropsBetween({ summary: new Map(), config: before }, { summary: new Map(), config })
  return drops.length > 0 || !config.configWatch
    ? 'A running server sells it so after turnpike config apply.'
    : 'A running server sells it within seconds; turnpike config status tells.'
}

const whyNotSold = ({ off }: Config, vendor: string): string => {
  const variable = off.find((one) => one.id === vendor)?.variable
  return variable === undefined
    ? 'It is not sold: it has ended.'
    : `It is not sold yet: its vendor is off until ${variable} is set.`
}

/** The members for the file, from the options; missing ones are asked for. */
const membersOf = async (id: string, options: AddOptions, ask: Prompt): Promise<Record<string, unknown>> => {
  const chat = options.kind !== 'embeddings'
  const needed = async (flag: string, question: string, given: string | undefined): Promise<string> => {
    const value = given ?? (await ask?.(`${id}: ${question}: `))?.trim()
    if (value === undefined || value === '') throw new Failed(`--${flag} is missing: ${question}`)
    return value
  }
  const input = await needed('input', 'USD for a million tokens of input', options.input)
  const output = chat
    ? await needed('output', 'USD for a million tokens of output', options.output)
    : undefined
  const context = await needed('context', 'tokens of input and output that it can hold', options.context)
  const maxOutput = chat
    ? await needed('max-output', 'tokens of its longest answer', options.maxOutput)
    : undefined
  const members = {
    upstream_name: options.upstreamName,
    kind: options.kind,
    input_usd_per_1m: input,
    output_usd_per_1m: output,
    cache_read_usd_per_1m: options.cacheRead,
    cache_write_usd_per_1m: options.cacheWrite,
    cache_write_1h_usd_per_1m: options.cacheWrite1h,
    call_usd_per_1m: options.call,
    tiers: options.above === undefined ? undefined : [tierOf(options.above, options)],
    context_tokens: tokensOf('context', context),
    max_output_tokens: maxOutput === undefined ? undefined : tokensOf('max-output', maxOutput),
    capabilities: options.capabilities?.split(','),
    cheaper_tier: options.cheaperTier,
    ends: options.ends,
  }
  return given(members)
}

const tierOf = (above: string, options: AddOptions): Record<string, unknown> =>
  given({
    above_input_tokens: tokensOf('above', above),
    input_usd_per_1m: options.inputAbove,
    output_usd_per_1m: options.outputAbove,
    cache_read_usd_per_1m: options.cacheReadAbove,
  })

const given = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const tokensOf = (flag: string, text: string): number => {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new Failed(`--${flag} must be a number of tokens, not '${text}'`)
  return Number.parseInt(text, 10)
}

/** The file's text with the model in it; comments and order stay as they are. */
const withModel = (
  text: string,
  it: { readonly vendor: string; readonly name: string; readonly model: object },
): string => {
  const document: Document = parseDocument(text)
  if (!isMap(document.contents)) document.contents = document.createNode({})
  document.setIn(['vendors', it.vendor, 'models', it.name], document.createNode(it.model))
  return document.toString(styleOf(text))
}

/** The file's present style, so that its form is kept. */
const styleOf = (text: string) => ({
  lineWidth: 0,
  indent: /^( {2,8})\S/m.exec(text)?.[1]?.length ?? 2,
  indentSeq: !/^( *)[^\s#-][^\n]*:\n\1- /m.test(text),
  flowCollectionPadding: /[[{] \S/.test(text),
})

/** Replaces the file in one step, so that a start in between reads either the old or the new one. */
const replaceFile = (path: string, text: string): void => {
  const target = existsSync(path) ? realpathSync(path) : path
  const mode = existsSync(target) ? statSync(target).mode & 0o777 : 0o600
  const fresh = `${target}.${process.pid}.new`
  writeFileSync(fresh, text, { mode })
  renameSync(fresh, target)
}

/** `turnpike connect <client>`: how to point a client at this server, with its address and a key filled in. */
import type { Command } from 'commander'
import { recipes } from '../../products/recipes/index.ts'
import { modelHere, pageOf, type Recipe } from '../../products/recipes/recipe.ts'
import { readConfig } from '../config/config.ts'
import { openCatalogue } from '../config/open-catalogue.ts'
import { ownAddress } from '../config/own-address.ts'
import { Failed, print, tableOf } from '../run/run-command.ts'

type ConnectOptions = { address?: string; key?: string; model?: string; json?: boolean }

export const connectCommand = (program: Command): void => {
  program
    .command('connect [client]')
    .description('show how a client is set up for this server; without a client, list those there are')
    .option('--address <url>', 'of the server (default: that of HOST and PORT)')
    .option('--key <token>', 'the caller’s key (default: TURNPIKE_KEY)')
    .option('--model <id>', 'a model to begin with')
    .option('--json', 'for programs')
    .action(connect)
}

const connect = async (client: string | undefined, options: ConnectOptions): Promise<void> => {
  if (client === undefined) list(options.json)
  else await show(client, options)
}

const list = (json: boolean | undefined): void => {
  const rows = recipes.map(({ name, title, calls }) => ({ client: name, name: title, calls }))
  print(json, rows, tableOf(rows))
}

const show = async (client: string, { address, key, model, json }: ConnectOptions): Promise<void> => {
  const recipe = recipes.find(({ name }) => name === client)
  if (recipe === undefined)
    throw new Failed(`there is no recipe for '${client}'; 'turnpike connect' shows them`)
  const page = pageOf(recipe, {
    address: address === undefined ? ownAddress() : addressOf(address),
    key: key ?? process.env.TURNPIKE_KEY ?? 'sk-…',
    // What a server elsewhere sells is not known here.
    model: model ?? (address === undefined ? await modelOfSettings(recipe) : recipe.model),
  })
  print(json, { client, page }, page)
}

const modelOfSettings = async (recipe: Recipe): Promise<string> =>
  modelHere((await openCatalogue(readConfig(process.env))).catalogue, recipe)

const addressOf = (text: string): string => {
  if (!/^https?:\/\/[^\s/]+(\/[^\s]*)?$/.test(text))
    throw new Failed(`--address must be a URL such as https://gateway.example, not '${text}'`)
  return text.replace(/\/(v1\/?)?$/, '')
}

/** `--alias <name>=<model>` of the key commands. */
import { Refusal } from '../core/refusal.ts'
import { checkAliases } from '../gateway/aliases.ts'
import { readAliases } from '../tenancy/aliases.ts'
import type { Aliases } from '../tenancy/key.ts'
import type { Config } from './config.ts'
import { openCatalogue } from './open-catalogue.ts'
import { Failed } from './run-command.ts'

/**
 * All aliases that the options give, null for `none`; undefined if the option was not given. Their models must be in
 * the catalogue.
 */
export const aliasesOf = async (
  config: Config,
  texts: readonly string[] | undefined,
): Promise<{ aliases?: Aliases | null }> => {
  if (texts === undefined) return {}
  if (texts.length === 1 && texts[0] === 'none') return { aliases: null }
  const aliases = readAliases(Object.fromEntries(texts.map(pairOf)))
  if (aliases instanceof Refusal) throw new Failed(aliases.message)
  const { catalogue } = await openCatalogue(config)
  const refusal = checkAliases(catalogue, aliases)
  if (refusal) throw new Failed(refusal.message)
  return { aliases }
}

const pairOf = (text: string): [string, string] => {
  const at = text.indexOf('=')
  if (at < 1)
    throw new Failed(`--alias must be <name>=<model> such as fast=openai/gpt-4o-mini, or none, not '${text}'`)
  return [text.slice(0, at), text.slice(at + 1)]
}

/** Collects an option that may be repeated. */
export const alsoOf = (text: string, before: readonly string[] = []): readonly string[] => [...before, text]

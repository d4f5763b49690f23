/** `--alias <name>=<model>`, `--tag <name>=<value>` and `--guardrails <json>` of the key commands. */
import { type Json, parseJson } from '../../core/json-body.ts'
import { Failed } from './run-command.ts'

/** All aliases that the options give, null for `none`. */
export const aliasesFrom = (texts: readonly string[]): Json =>
  texts.length === 1 && texts[0] === 'none' ? null : Object.fromEntries(texts.map(pairOf))

const pairOf = (text: string): [string, string] => {
  const at = text.indexOf('=')
  if (at < 1)
    throw new Failed(`--alias must be <name>=<model> such as fast=openai/gpt-4o-mini, or none, not '${text}'`)
  return [text.slice(0, at), text.slice(at + 1)]
}

/** All tags that the options give, null for `none`; `name!=value` is fixed. */
export const keyTagsFrom = (texts: readonly string[]): Json =>
  texts.length === 1 && texts[0] === 'none'
    ? null
    : Object.fromEntries(
        texts.map((text) => {
          const [, name = '', fixed, value = ''] = /^([^=!]+)(!?)=(.+)$/s.exec(text) ?? []
          if (name === '')
            throw new Failed(
              `--tag must be <name>=<value> such as team=red, team!=red, or none, not '${text}'`,
            )
          return [name, { value, fixed: fixed === '!' }]
        }),
      )

/** The rules that the option gives, null for `none`. */
export const guardrailsFrom = (text: string): Json => {
  const rules = text === 'none' ? null : parseJson(text)
  if (rules === undefined) throw new Failed('--guardrails must be a list of rules as JSON, or none')
  return rules
}

/** Collects an option that may be repeated. */
export const alsoOf = (text: string, before: readonly string[] = []): readonly string[] => [...before, text]

/**
 * The request of a dialect, described once. A description is built of small shapes. From it come the checks, the size
 * and the marks of other vendors (one walk over the request, `readRequest`), the members that are ignored for other
 * dialects (`ignoredIn`), the type of a checked request (`RequestOf`), and the schema of the API reference (`schema`).
 * How to add a member: CONTRIBUTING.md. Why it works this way: docs/decisions/requests.md.
 */
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { invalid, type Refusal } from '../../core/refusal.ts'
import { Findings } from './findings.ts'
import { type IgnoredNames, type Sentence, type Shape, such, Wrong } from './shape.ts'
import { camelCase, member as memberOf } from './spelling.ts'

/** A shape as a member of an object. */
type Member<T = unknown> = Shape<T> & {
  /** The refusal's text when the member is missing. */
  readonly needed?: Sentence
  /** The member is ignored for other dialects. With one of these values it asks for nothing, so it is not reported. */
  readonly ignoredExcept?: readonly Json[]
  /** The member means the same in capitals and in small letters. */
  readonly anyCase?: true
}

type Members = Readonly<Record<string, Member>>
type Of<S> = S extends Shape<infer T> ? T : never
type Needed<M> = { [Name in keyof M]: M[Name] extends { readonly needed: Sentence } ? Name : never }[keyof M]
type ObjectOf<M> = { readonly [Name in Needed<M>]: Of<M[Name]> } & {
  readonly [Name in Exclude<keyof M, Needed<M>>]?: Of<M[Name]> | null
}

type ObjectRules = {
  /** The refusal's text for a value that is not an object. */
  readonly say?: Sentence
  /** A member that must be a non-empty text. */
  readonly named?: string
  /** A value that is not an object is left for the vendor to refuse. */
  readonly loose?: true
  /** Members may be spelled in camel case or with underscores; here they are in camel case. */
  readonly spelled?: true
  /** The place under which ignored members are reported; absent if nobody looks for them. */
  readonly place?: string
  /** The objects in which we look for them; all when absent. */
  readonly placeOf?: (value: JsonObject) => boolean
  /** A rule about several members together. */
  readonly rule?: (value: JsonObject) => Wrong | undefined
  /** Called with each valid object. */
  readonly seen?: (value: JsonObject, found: Findings) => void
}

/** An object with these members among others. If several are wrong, the refusal names the one listed first here. */
export const object = <const M extends Members>(members: M, rules: ObjectRules = {}): Shape<ObjectOf<M>> => {
  const { place, spelled } = rules
  return {
    ...checkOf(rules, walkOf(members, spelled && otherSpelling)),
    ...(place === undefined ? {} : { addIgnored: addIgnoredOf(members, place, rules) }),
    schema: schemaOf(members, rules.named),
  }
}

type Check = NonNullable<Shape['check']>
type Walk = (value: JsonObject, found: Findings) => Wrong | undefined

/** Undefined when nothing is required of the value. */
const checkOf = (
  { named, loose, rule, seen, ...rest }: ObjectRules,
  walk: Walk | undefined,
): Pick<Shape, 'check'> => {
  if (loose === true && (walk ?? rule ?? seen) === undefined) return {}
  const say =
    rest.say ??
    (named === undefined
      ? (name: string) => `'${name}' must be an object.`
      : (name: string) => `'${name}' must be an object with a non-empty string '${named}'.`)
  const check: Check = (value, found) => {
    if (!isObject(value)) return loose === true ? undefined : new Wrong(say, named && `.${named}`)
    if (named !== undefined) {
      const called = value[named]
      if (typeof called !== 'string' || called === '') return new Wrong(say, `.${named}`)
    }
    const wrong = walk?.(value, found) ?? rule?.(value)
    if (wrong === undefined) seen?.(value, found)
    return wrong
  }
  return { check }
}

/** A member during a walk. */
type Walked = Member & {
  readonly name: string
  /** If several members are wrong, the refusal names the one with the lowest rank. */
  readonly rank: number
  /** It is checked even if it is null. */
  readonly always?: true
}
/** The member that an unknown name may be a misspelling of. */
type Others = (name: string, checked: ReadonlyMap<string, Walked>, value: JsonObject) => Walked | undefined

/** Checks the members that are present. Undefined if nothing needs checking. */
const walkOf = (members: Members, others?: Others): Walk | undefined => {
  const all = Object.entries(members).map(([name, member], rank): Walked => ({ name, rank, ...member }))
  const checked = new Map(all.flatMap((one) => (one.check === undefined ? [] : [[one.name, one] as const])))
  const required = all.filter((one) => one.needed !== undefined)
  if (checked.size + required.length === 0 && others === undefined) return undefined
  return (value, found) => {
    let first = Number.POSITIVE_INFINITY
    let firstWrong: Wrong | undefined
    for (const { name, rank, needed: say } of required) {
      if (say === undefined || rank > first || (value[name] ?? null) !== null) continue
      first = rank
      firstWrong = new Wrong(say).under(name)
    }
    for (const name in value) {
      const member = checked.get(name) ?? others?.(name, checked, value)
      if (member === undefined || member.rank >= first) continue
      const one = value[name] ?? null
      if (one === null && member.always !== true) continue
      const wrong = member.check?.(one, found)
      if (wrong === undefined) continue
      first = member.rank
      firstWrong = wrong.under(member.name)
    }
    return firstWrong
  }
}

/** Names in small letters, as nearly all are, need no folded copy. */
const FOLDED = /^[a-z0-9_]*$/
/** A misspelt name is reported before all other faults except the model's. */
const MISSPELT = 0.5

/** Some vendors' parsers ignore the case of names: there, `Max_Tokens` would have the effect of `max_tokens` here. */
const otherCase: Others = (name, checked) => {
  if (FOLDED.test(name)) return undefined
  const folded = name.toUpperCase().toLowerCase()
  const member = checked.get(folded)
  if (member === undefined || member.anyCase === true) return member && { ...member, name }
  return {
    name,
    rank: MISSPELT,
    always: true,
    check: () => new Wrong(() => `'${name}' is written '${folded}'.`),
  }
}

/** A member in both spellings might be read as one value here and as the other at the vendor. */
const otherSpelling: Others = (name, checked, value) => {
  const usual = camelCase(name)
  if (usual === name) return undefined
  if (!Object.hasOwn(value, usual)) return checked.get(usual)
  const twice = () => `'${name}' is there in both of its spellings; send one.`
  return { name, rank: Number.MAX_VALUE, always: true, check: () => new Wrong(twice).alone(name) }
}

const addIgnoredOf =
  (members: Members, place: string, { placeOf, spelled }: ObjectRules): NonNullable<Shape['addIgnored']> =>
  (value, names) => {
    if (!isObject(value)) return
    const here = names.get(place) ?? new Set()
    names.set(place, here)
    if (placeOf?.(value) !== false)
      for (const written in value) {
        const one = value[written]
        if (one === undefined || one === null) continue
        const name = spelled === true ? camelCase(written) : written
        const member = Object.hasOwn(members, name) ? members[name] : undefined
        if (member === undefined || member.ignoredExcept?.includes(one) === false) here.add(place + name)
      }
    for (const name in members) {
      const addIgnored = members[name]?.addIgnored
      if (addIgnored === undefined) continue
      const one = spelled === true ? memberOf(value, name) : value[name]
      if (one !== undefined && one !== null) addIgnored(one, names)
    }
  }

const schemaOf = (members: Members, named?: string): JsonObject => {
  const offered = Object.entries(members).flatMap(([name, { schema }]) =>
    schema ? [[name, schema] as const] : [],
  )
  const required = Object.keys(members).filter((name) => members[name]?.needed !== undefined)
  if (named !== undefined) required.push(named)
  return {
    type: 'object',
    properties: {
      ...(named === undefined ? {} : { [named]: { type: 'string' } }),
      ...Object.fromEntries(offered),
    },
    ...(required.length === 0 ? {} : { required }),
  }
}

/** A member that must be present. */
export const needed = <S extends Shape>(shape: S, say: Sentence) => ({ ...shape, needed: say })

/** A member that is ignored for other dialects; with a `usual` value it asks for nothing and is not reported. */
export const ignored = <S extends Shape>(shape: S, ...usual: readonly Json[]) => ({
  ...shape,
  ignoredExcept: usual,
})

/** Members that are refused by name unless they ask for nothing. */
export const notOffered = <const Name extends string>(
  names: readonly Name[],
  asksNothing: (value: Json) => boolean,
  say: Sentence,
): Readonly<Record<Name, Member<Json>>> => {
  const member: Member<Json> = {
    check: (value) => (asksNothing(value) ? undefined : new Wrong(say)),
    ignoredExcept: [],
    anyCase: true,
  }
  return Object.fromEntries(names.map((name) => [name, member])) as Record<Name, Member<Json>>
}

/** The name of a model, required in every dialect whose body names it. */
const MODEL_NEEDED = () =>
  "'model' is required: a string such as 'openai/gpt-4o-mini'; GET /v1/models lists them."
export const modelName = needed(
  such<string>((value) => typeof value === 'string' && value !== '', MODEL_NEEDED, { type: 'string' }),
  MODEL_NEEDED,
)

/** The name of the model in a body that has not been checked yet. */
export const modelNameOf = ({ model }: JsonObject): string | Refusal =>
  typeof model === 'string' && model !== '' ? model : invalid('model', MODEL_NEEDED())

/** The description of a whole request. */
export const request = <const M extends Members>(
  members: M,
  rules: Pick<ObjectRules, 'rule' | 'spelled'> = {},
): Shape<ObjectOf<M>> & { readonly names: readonly string[] } => ({
  names: Object.keys(members),
  ...object(members, { ...rules, place: '' }),
  ...checkOf(rules, walkOf(members, rules.spelled === true ? otherSpelling : otherCase)),
  schema: { ...schemaOf(members), additionalProperties: true },
})

export type RequestOf<Description> = Of<Description>

/** One walk over a request: returns what is wrong with it, or what was found in it. */
export const readRequest = ({ check }: Shape, value: JsonObject): Findings | Refusal => {
  const found = new Findings()
  return check?.(value, found)?.refusal() ?? found
}

/** Names of the members that are ignored for other dialects, place by place. */
export const ignoredIn = ({ addIgnored }: Shape, value: JsonObject): readonly string[] => {
  const names: IgnoredNames = new Map()
  addIgnored?.(value, names)
  return [...names.values()].flatMap((here) => [...here])
}

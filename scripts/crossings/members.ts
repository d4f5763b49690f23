/** The width of interfaces: how many members a type has, with those of the types it is made from. */

type Declared = { readonly own: number; readonly parts: readonly string[] }

/** Members at depth one of the object types in the text: each begins a line at the least depth within its braces. */
const membersIn = (text: string): number => {
  let count = 0
  let depth = 0
  for (const line of text.split('\n')) {
    const code = line.replace(/\/\*.*?\*\/|\/\/.*|'[^']*'/g, '')
    if (depth === 1 && /^\s+(?:readonly )?[\w$]+\??[:(<]/.test(code)) count++
    depth += (code.match(/[{([]/g) ?? []).length - (code.match(/[})\]]/g) ?? []).length
  }
  return count
}

/** What a source declares, by name; the source is formatted. */
const declaredIn = (code: string): [string, Declared][] =>
  [
    ...code.matchAll(
      /^(?:export )?(?:type|interface) (\w+)(?:<[^=\n]*>)?(?: =)? ?([\s\S]*?)(?=\n\n|\n(?:export|const|type|\/\*\*)|$(?![\s\S]))/gm,
    ),
  ].map(([, name = '', body = '']) => {
    const outside = body.replace(/\{[\s\S]*\n\s*\}/, '{}')
    const isSum = !/[|=]|=>/.test(outside)
    const parts = isSum ? [...outside.matchAll(/(?:^|&)\s*([A-Z]\w+)(?=\s*(?:&|$|\n))/g)] : []
    return [name, { own: isSum ? membersIn(body) : 0, parts: parts.map(([, part = '']) => part) }]
  })

/** The widest of the types that the sources declare; `codes` are their texts. */
export const widest = (codes: readonly string[]): { readonly name: string; readonly members: number } => {
  const all = new Map(codes.flatMap(declaredIn))
  const membersOf = (name: string, above: readonly string[] = []): number => {
    const declared = all.get(name)
    if (declared === undefined || above.includes(name)) return 0
    return declared.parts.reduce((sum, part) => sum + membersOf(part, [...above, name]), declared.own)
  }
  return [...all.keys()]
    .map((name) => ({ name, members: membersOf(name) }))
    .reduce((most, each) => (each.members > most.members ? each : most))
}

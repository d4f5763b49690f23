/**
 * Results of tools that a client sends twice, as some do when they resume a session. Vendors want one result for each
 * call and refuse the second.
 */
import type { Conversation, Part, ToolResult, Turn } from '../neutral.ts'

/** The conversation without exact repeats of results whose call has been answered; other results stay. */
export const withoutRepeatedResults = (it: Conversation): Conversation => {
  const isRepeat = repeatFinder()
  let dropped = false
  const turns = it.turns.flatMap((turn): Turn[] => {
    const parts = turn.parts.filter((part) => !isRepeat(part))
    if (parts.length === turn.parts.length) return [turn]
    dropped = true
    return parts.length === 0 ? [] : [{ ...turn, parts }]
  })
  return dropped ? { ...it, turns } : it
}

/** Takes the parts in order. A call that is sent again, under its old id, waits for a result again. */
const repeatFinder = (): ((part: Part) => boolean) => {
  const open = new Map<string, number>()
  const results = new Map<string, ToolResult[]>()
  return (part) => {
    if (part.type === 'tool_call') open.set(part.id, (open.get(part.id) ?? 0) + 1)
    if (part.type !== 'tool_result') return false
    const waiting = open.get(part.id) ?? 0
    const before = results.get(part.id) ?? []
    if (waiting === 0 && before.some((one) => sameResult(one, part))) return true
    open.set(part.id, Math.max(0, waiting - 1))
    results.set(part.id, [...before, part])
    return false
  }
}

/** Marks for the cache are no part of what a result says. */
const sameResult = (one: ToolResult, other: ToolResult): boolean => saidBy(one) === saidBy(other)

const saidBy = ({ parts, failed }: ToolResult): string =>
  JSON.stringify([
    failed === true,
    parts.map((part) => {
      const { cache: _mark, ...rest } = part
      return rest
    }),
  ])

/**
 * `npm run lock`: whether package-lock.json pins each dependency by a digest and, as far as the registry answers, whether it
 * knows of faults in what runs, and has signed what is installed. What it does not answer is told and skipped.
 */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'

const root = resolve(import.meta.dir, '..')
const WAIT_MS = 60_000

const lock = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({
      integrity: z.string().optional(),
      link: z.boolean().optional(),
      inBundle: z.boolean().optional(),
      resolved: z.string().optional(),
    }),
  ),
})

/** Installed packages that no digest pins. What is a folder of ours, or inside another package, needs none. */
export const unpinned = (text: string): readonly string[] =>
  Object.entries(lock.parse(JSON.parse(text)).packages)
    .filter(([path, it]) => path.includes('node_modules/') && it.link !== true && it.inBundle !== true)
    .filter(([, { integrity = '' }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity))
    .map(([path]) => path)

type Asked = 'sound' | 'no answer' | { readonly found: string }

/** What npm printed, as a judgement: its errors of the network are no finding. */
export const judged = (code: number, out: string): Asked => {
  if (code === 0) return 'sound'
  const finding =
    /(\d+) (?:(?:low|moderate|high|critical) severity )?vulnerabilit|invalid (?:registry )?signature|missing registry signature/i
  return finding.test(out) ? { found: out.trim().slice(-2_000) } : 'no answer'
}

const ask = async (...command: string[]): Promise<Asked> => {
  const child = Bun.spawn(['npm', ...command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: WAIT_MS,
  })
  const out = await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()))
  return judged(await child.exited, out.join('\n'))
}

if (import.meta.main) {
  const open = unpinned(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  let failed = open.length > 0
  process.stdout.write(
    failed ? `without a digest: ${open.join(', ')}\n` : 'each dependency is pinned by its digest\n',
  )
  for (const [what, ...command] of [
    ['known faults in what runs', 'audit', '--omit=dev', '--audit-level=high'],
    ['signatures of the registry', 'audit', 'signatures'],
  ] as const) {
    const answer = await ask(...command)
    const found = typeof answer === 'object'
    failed ||= found
    process.stdout.write(
      `${what}: ${found ? answer.found : answer === 'sound' ? 'none is amiss' : 'skipped, the registry does not answer'}\n`,
    )
  }
  if (failed) process.exit(1)
}

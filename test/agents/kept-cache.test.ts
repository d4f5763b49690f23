/**
 * Claude Code and Codex before a vendor whose keys have a cache of prompts each: with ten keys their conversations read
 * from it what they read with one.
 */
import { expect, test } from 'bun:test'
import { costOf } from './checks.ts'
import { modelOf, openHouse } from './house.ts'
import { install, NotInstalled } from './install.ts'
import { openDesk } from './launch.ts'
import { readPage } from './page.ts'
import { programs } from './programs/index.ts'
import { titleOf } from './programs/program.ts'
import { keyIn, type Sighting, type VendorId } from './vendor-host.ts'

/** Conversations, one after the other, and the tools in each: enough that the first turn of a key weighs little. */
const TALKS = 2
const ROUNDS = 30
/** For the installation and a session; no machine needs this long. */
const LONG_MS = 30 * 60_000
/** What ten keys may lose of the hit rate of one. */
const KEEPS = 0.97

const promptOf = (talk: number): string => `Turnpike conversation ${talk}: look at each step.`

const hitRate = (seen: readonly Sighting[]): number => {
  const counts = seen.flatMap((one) => one.counts ?? [])
  const read = counts.reduce((sum, { cacheRead }) => sum + cacheRead, 0)
  const all = counts.reduce((sum, one) => sum + one.input + one.cacheRead + one.cacheWrite, 0)
  return read / all
}

const session = async (title: string, vendor: VendorId, keys: number, installed: Installed) => {
  const program = programs.find((one) => titleOf(one) === title)
  if (program === undefined) throw new Error(`there is no client '${title}'`)
  const house = await openHouse('', keys)
  const page = readPage(program.name, {
    address: house.tap.address,
    key: house.key,
    model: modelOf[vendor],
  })
  const desk = openDesk(page, installed.bins)
  house.vendors.play(({ prompt, rounds, tools }) =>
    tools.includes(program.run('').name) && prompt.includes('Turnpike conversation') && rounds.length < ROUNDS
      ? { text: 'I look.', calls: [program.run(`seq ${rounds.length * 100} ${rounds.length * 100 + 99}`)] }
      : { text: 'All seen.', calls: [] },
  )
  try {
    const outs: string[] = []
    for (let talk = 0; talk < TALKS; talk++) {
      const { code, out, errors } = await desk.run(program.command, {
        PROMPT: promptOf(talk),
        MODEL: modelOf[vendor],
      }).ended
      outs.push(code === 0 && out.includes('All seen.') ? 'done' : `${out}\n${errors}`)
    }
    const { seen, refused } = house.vendors.collect()
    const turns = Array.from({ length: TALKS }, (_talk, talk) =>
      seen.filter(({ body }) => {
        const text = JSON.stringify(body)
        return text.includes(promptOf(talk)) && text.includes('I look.')
      }),
    )
    return {
      outs,
      refused,
      hits: hitRate(seen),
      turns: turns.map(({ length }) => length),
      keysOfTalks: turns.map((all) => new Set(all.map(keyIn)).size),
      unpaid: (await house.charged()) - costOf(seen),
    }
  } finally {
    desk.remove()
    expect(await house.close()).toEqual({ held: 0, audit: [] })
  }
}

type Installed = Awaited<ReturnType<typeof install>>

test.each([
  ['claude-code', 'messages'],
  ['codex', 'chat'],
] as const)(
  'the conversations of %s keep their cache over ten keys of a vendor of %s',
  async (title, vendor) => {
    const installed = await install(title).catch((error: unknown) => {
      if (!(error instanceof NotInstalled)) throw error
      process.stderr.write(`${title} is left out: ${error.message}\n`)
    })
    if (installed === undefined) return
    const fine = { outs: Array(TALKS).fill('done'), refused: [], unpaid: 0, turns: Array(TALKS).fill(ROUNDS) }
    const one = await session(title, vendor, 1, installed)
    expect(one).toMatchObject(fine)
    const ten = await session(title, vendor, 10, installed)
    expect(ten).toMatchObject({ ...fine, keysOfTalks: Array(TALKS).fill(1) })
    expect(one.hits).toBeGreaterThan(0.5)
    expect(ten.hits / one.hits).toBeGreaterThanOrEqual(KEEPS)
  },
  LONG_MS,
)

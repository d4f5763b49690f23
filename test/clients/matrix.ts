/** The matrix: every client with every vendor dialect and every feature, and the page about it. */
import { expect } from 'bun:test'
import { sessionsPage } from '../agents/results.ts'
import { aiSdkDrivers } from './drivers/ai-sdk.ts'
import { anthropicDrivers } from './drivers/anthropic.ts'
import { cohereDrivers } from './drivers/cohere.ts'
import type { Client, Driver, Feature } from './drivers/driver.ts'
import { googleDrivers } from './drivers/google.ts'
import { googleInteractionsDrivers } from './drivers/google-interactions.ts'
import { langchainDrivers } from './drivers/langchain.ts'
import { ollamaDrivers } from './drivers/ollama.ts'
import { openaiDrivers } from './drivers/openai.ts'
import { modelOf, type VendorId, vendorIds } from './harness.ts'
import { officialMethodsPart } from './official-methods.ts'
import { counts, person, thought, time, weather } from './vendors/script.ts'

export const drivers: readonly Driver[] = [
  ...openaiDrivers,
  ...anthropicDrivers,
  ...googleDrivers,
  ...googleInteractionsDrivers,
  ...cohereDrivers,
  ...ollamaDrivers,
  ...aiSdkDrivers,
  ...langchainDrivers,
]

/** A picture of one pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const pngBytes = Buffer.from(png, 'base64').length

const spoken = 'You said: Hello “there”. Grüße, 世界 🌍.'
const both = [[weather.name, weather.args] as const, [time.name, time.args] as const]

const fails = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (value) => expect.unreachable(`answered ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )

const loopOf = async (client: Client, model: string, stream: boolean, thinks: boolean) => {
  const ask = { model, prompt: 'Weather and time, please.', stream, thinks }
  const { rounds, text } = await client.loop(ask)
  expect(rounds).toEqual([both])
  expect(text).toContain('The tools say:')
  expect(text).toContain('sunny, 21 °C')
  expect(text).toContain('12:30')
}

type Check = (client: Client, model: string, driver: Driver) => Promise<void>

/** The counts that a client must report. */
const countsIn = (driver: Driver, stream: boolean) =>
  stream && driver.miscountsStreams === true ? {} : counts

export const features: Readonly<Record<Feature, Check>> = {
  text: async (client, model) => {
    const answer = await client.say({ model, prompt: 'Hello “there”.' })
    expect(answer).toMatchObject({ text: spoken, ...counts })
  },
  stream: async (client, model, driver) => {
    const answer = await client.say({ model, prompt: 'Hello “there”.', stream: true })
    expect(answer).toMatchObject({ text: spoken, ...countsIn(driver, true) })
  },
  tools: async (client, model) => {
    await loopOf(client, model, false, false)
    await loopOf(client, model, true, false)
  },
  image: async (client, model) => {
    const { text } = await client.say({ model, prompt: 'Look.', image: png })
    expect(text).toContain(`I see a picture of ${pngBytes} bytes.`)
  },
  'structured output': async (client, model) => {
    expect(await client.structured(model)).toEqual(person)
  },
  reasoning: async (client, model, driver) => {
    for (const stream of [false, true]) {
      const ask = { model, prompt: 'Hello “there”.', thinks: true, stream }
      expect(await client.say(ask)).toMatchObject({
        text: spoken,
        thinking: thought,
        ...countsIn(driver, stream),
      })
      await loopOf(client, model, stream, true)
    }
  },
  compaction: async (client, model) => {
    expect(client.compact).toBeDefined()
    const { left, text } = (await client.compact?.(model)) ?? { left: [], text: '' }
    expect([left.at(-1), text.startsWith('You said: ')]).toEqual(['compaction', true])
    expect(text).toContain('Go on.')
  },
  error: async (client, model) => {
    for (const stream of [false, true])
      for (const [status, expected] of [
        [400, 400],
        [429, 503],
        [500, 503],
      ] as const) {
        const error = await fails(client.say({ model, prompt: `FAIL ${status}`, stream }))
        // Some clients report no status of an error in a stream.
        if (!stream || client.statusOf(error) !== undefined)
          expect([status, client.statusOf(error)]).toEqual([status, expected])
      }
    for (const prompt of ['BREAK', 'DIE'])
      expect(await fails(client.say({ model, prompt, stream: true }))).toBeInstanceOf(Error)
  },
}

/** Why a client has no cell for a feature. */
export const lackOf = (driver: Driver, feature: Feature): string | undefined =>
  driver.cannot?.[feature] ??
  (feature === 'compaction' && driver.compacts === undefined
    ? 'The client asks for no compaction in this style.'
    : undefined)

export const featureNames = Object.keys(features) as readonly Feature[]

/** Cells that passed, by driver, vendor and feature. */
type Passed = ReadonlySet<string>
export const cell = (driver: Driver, vendor: VendorId, feature: Feature): string =>
  `${driver.name} → ${vendor}: ${feature}`

const versionOf = async (name: string): Promise<string> => {
  const path = Bun.resolveSync(`${name}/package.json`, import.meta.dir)
  const { version } = await Bun.file(path).json()
  return String(version)
}

/** The page of the matrix as this run found it. */
export const compatibilityPage = async (passed: Passed): Promise<string> => {
  const notes: string[] = []
  const rows: string[] = []
  for (const driver of drivers) {
    const version = await versionOf(driver.package)
    const name = driver.note === undefined ? driver.name : `${driver.name} [${notes.push(driver.note)}]`
    for (const vendor of vendorIds) {
      const cells = featureNames.map((feature) => {
        const reason = lackOf(driver, feature)
        if (reason === undefined) return passed.has(cell(driver, vendor, feature)) ? '✓' : '✗'
        if (!notes.includes(reason)) notes.push(reason)
        return `– [${notes.indexOf(reason) + 1}]`
      })
      rows.push(`| ${[name, version, vendor, ...cells].join(' | ')} |`)
    }
  }
  const heads = ['client', 'version', 'vendor speaks', ...featureNames]
  return `${[
    '# Compatibility',
    '',
    'Generated by `npm run compatibility`; do not edit. Each client runs with only its address and key changed, against',
    'a listening server before a scripted vendor that is as strict as the public API reference of its dialect.',
    'A ✓ says that the test of that cell passed (`test/clients/matrix.test.ts`).',
    '',
    `| ${heads.join(' | ')} |`,
    `| ${heads.map(() => '---').join(' | ')} |`,
    ...rows,
    '',
    ...notes.map((note, index) => `${index + 1}. ${note}`),
    ...(notes.length === 0 ? [] : ['']),
    '- text, stream: the whole text arrives, in any script, with the exact counts of tokens.',
    '- tools: two calls at once, whole and streamed in pieces, their results sent back, and an answer that quotes them.',
    '- image: the vendor counts all bytes of a picture that was sent inline.',
    "- structured output: the client's own method returns an object that fits a schema.",
    '- reasoning: the client shows the reasoning, whole and streamed, and a tool loop runs with it.',
    '- compaction: a conversation is replaced by what the client asks for in its place, and goes on from that.',
    "- error: the vendor's 400, 429 and 500, an error in mid-stream and a broken connection become the client's errors.",
    '',
    officialMethodsPart(await versionOf('openai')),
    sessionsPage(),
  ].join('\n')}`
}

export const modelFor = (vendor: VendorId): string => modelOf[vendor]

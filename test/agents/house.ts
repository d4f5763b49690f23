/** A whole Turnpike as an operator starts it, in a process of its own, between the scripted vendors and a tap. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram, startProgram } from '../program.ts'
import { startTap, type Tap } from './tap.ts'
import { startVendorHost, type VendorHost, type VendorId } from './vendor-host.ts'

/** Nano-USD a token. */
type Price = {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

/** The models on sale, by the dialect of their vendor. */
export const modelOf: Readonly<Record<VendorId, string>> = {
  chat: 'openai/gpt-4.1',
  messages: 'anthropic/claude-sonnet-4-6',
  gemini: 'google/gemini-2.5-flash',
  'chat-only': 'deepseek/deepseek-v4-flash',
}
/** Both vendors of chat cost the same, so that a dialect has one price. */
const chat: Price = { input: 2_000, cacheRead: 500, cacheWrite: 0, output: 8_000 }
export const priceOf: Readonly<Record<VendorId, Price>> = {
  chat,
  'chat-only': chat,
  messages: { input: 3_000, cacheRead: 300, cacheWrite: 3_750, output: 15_000 },
  gemini: { input: 300, cacheRead: 30, cacheWrite: 0, output: 2_500 },
}
const idOf: Readonly<Record<VendorId, string>> = {
  chat: 'openai',
  messages: 'anthropic',
  gemini: 'google',
  'chat-only': 'deepseek',
}

export type House = {
  readonly vendors: VendorHost
  readonly tap: Tap
  /** The server's own address, past the tap. */
  readonly address: string
  readonly key: string
  /** What the ledger charged so far, in nano-USD. */
  readonly charged: () => Promise<number>
  /** Ends the server; returns what is then held, and what the audit finds. */
  readonly close: () => Promise<{ readonly held: number; readonly audit: string[] }>
}

/** Vendors that speak one dialect and nothing more, by what it is; the model of each is `<id>/one`. */
const plainVendors = { plain: 'chat', direct: 'responses' } as const
const PLAIN =
  '{ upstream_name: one, input_usd_per_1m: "2", cache_read_usd_per_1m: "0.5", output_usd_per_1m: "8", context_tokens: 200000, max_output_tokens: 32000 }'

/** Nano-USD a token as USD a million. */
const perMillion = (nano: number): string => String(nano / 1_000)

const configuration = (vendors: VendorHost, keys: number): string => {
  const ids = Object.keys(idOf) as VendorId[]
  const keysOf = (id: VendorId) =>
    Array.from({ length: keys }, (_key, at) => `"house-key-${at}-of-${id}"`).join()
  return [
    'vendors:',
    ...Object.entries(plainVendors).map(
      ([id, path]) =>
        `  ${id}: { base_url: "${vendors.addressOf('chat')}", speaks: ${path}, keys: house-key, models: { one: ${PLAIN} } }`,
    ),
    ...ids.map((id) => `  ${idOf[id]}: { base_url: "${vendors.addressOf(id)}", keys: [${keysOf(id)}] }`),
    'prices:',
    ...ids.map((id) => {
      const { input, cacheRead, cacheWrite, output } = priceOf[id]
      const write = cacheWrite === 0 ? '' : `, cache_write_usd_per_1m: "${perMillion(cacheWrite)}"`
      return `  ${modelOf[id]}: { input_usd_per_1m: "${perMillion(input)}", output_usd_per_1m: "${perMillion(output)}", cache_read_usd_per_1m: "${perMillion(cacheRead)}"${write} }`
    }),
  ].join('\n')
}

/** Opens it; `section` is a further part of its turnpike.yaml, `keys` is how many keys it has for each vendor. */
export const openHouse = async (section = '', keys = 1): Promise<House> => {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-agents-'))
  const vendors = startVendorHost()
  writeFileSync(join(home, 'turnpike.yaml'), `${configuration(vendors, keys)}\n${section}`)
  const settings = { LOG: 'error', DATABASE_URL: `sqlite:${home}/ledger.db`, PLAN_RPM: '100000' }
  const { child, address, token } = await startProgram(home, settings)
  const tap = startTap(address)
  const asked = async (...args: string[]) => {
    const { code, out, errors } = await runProgram(home, settings, ...args, '--json')
    if (code !== 0) throw new Error(`turnpike ${args.join(' ')}: ${errors}`)
    return JSON.parse(out)
  }
  return {
    vendors,
    tap,
    address,
    key: token,
    charged: async () => {
      const answer = await fetch(`${address}/v1/usage?group_by=`, {
        headers: { authorization: `Bearer ${token}` },
      })
      const { data } = (await answer.json()) as { data: { total: { cost_usd: number } } }
      return Math.round(data.total.cost_usd * 1e9)
    },
    close: async () => {
      child.kill('SIGTERM')
      await child.exited
      const { held_usd } = await asked('wallet', 'show')
      const audit: { check: string; ok: boolean; detail?: string }[] = await asked('audit')
      await tap.stop()
      await vendors.stop()
      rmSync(home, { recursive: true })
      return {
        held: Math.round(held_usd * 1e9),
        audit: audit.filter(({ ok }) => !ok).map(({ check, detail }) => `${check}: ${detail}`),
      }
    },
  }
}

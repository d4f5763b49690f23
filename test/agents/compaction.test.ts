/**
 * Codex in a session that is longer than its window: it compacts by itself three times, over its own WebSocket, on models
 * of vendors that know nothing of compaction.
 */
import { expect, test } from 'bun:test'
import { costOf } from './checks.ts'
import { modelOf, openHouse } from './house.ts'
import { install, NotInstalled } from './install.ts'
import { openDesk } from './launch.ts'

/** Codex alone says more than half of this in each request. */
const WINDOW = 13_000
const STEPS_MAX = 10
/** For the installation and a session; no machine needs this long. */
const LONG_MS = 30 * 60_000

const models = ['plain/one', 'direct/one', modelOf.messages, modelOf.gemini]

const session = async (model: string, bins: readonly string[]) => {
  const house = await openHouse()
  const settings = [
    `model = "${model}"`,
    `openai_base_url = "${house.address}/v1"`,
    `model_auto_compact_token_limit = ${WINDOW}`,
  ]
  const file = { path: '~/.codex/config.toml', text: settings.join('\n') }
  const desk = openDesk({ install: '', variables: '', files: [file], first: '' }, bins)
  let summaries = 0
  house.vendors.play(({ prompt, rounds, tools }, body) => {
    if (JSON.stringify(body).includes('Write the summary that'))
      return { text: `SUMMARY ${++summaries}`, calls: [] }
    const works = /step \d/.test(prompt) && rounds.length === 0 && tools.includes('exec_command')
    const args = { cmd: 'seq 1 6000', yield_time_ms: 5_000, max_output_tokens: 9_000 }
    return works
      ? { text: 'I will look.', calls: [{ name: 'exec_command', args }] }
      : { text: 'The step is done.', calls: [] }
  })
  try {
    const outs: string[] = []
    for (let step = 1; step <= STEPS_MAX && summaries < 3; step++) {
      const how = `${step === 1 ? '' : 'resume --last '}--skip-git-repo-check --dangerously-bypass-approvals-and-sandbox`
      const codex = `codex exec ${how} --json "Do step ${step}."`
      const { code, out, errors } = await desk.run(codex, {
        OPENAI_API_KEY: house.key,
        CODEX_API_KEY: house.key,
      }).ended
      outs.push(code === 0 && out.includes('The step is done.') ? 'done' : `${out}\n${errors}`)
    }
    const { seen, refused } = house.vendors.collect()
    const last = JSON.stringify(seen.at(-1)?.body)
    const due = costOf(seen)
    const charged = await house.charged()
    return { outs, summaries, refused, last, due, charged }
  } finally {
    desk.remove()
    expect(await house.close()).toEqual({ held: 0, audit: [] })
  }
}

test.each(models)(
  'codex compacts three times on %s',
  async (model) => {
    const installed = await install('codex').catch((error: unknown) => {
      if (!(error instanceof NotInstalled)) throw error
      process.stderr.write(`codex is left out: ${error.message}\n`)
    })
    if (installed === undefined) return
    const { outs, summaries, refused, last, due, charged } = await session(model, installed.bins)
    expect(outs.filter((out) => out !== 'done')).toEqual([])
    expect([summaries, refused, charged]).toEqual([3, [], due])
    expect([last.includes('SUMMARY 3'), last.includes('SUMMARY 2')]).toEqual([true, false])
  },
  LONG_MS,
)

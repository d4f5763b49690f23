/** What every driver shares: the deed it is to do, the tool it brings, and how it tells what came of it. */
import { execSync } from 'node:child_process'

export const { DEED: deed, PROMPT: prompt, MODEL: model } = process.env

export const tool = {
  name: 'run_step',
  description: 'Runs a command and tells what it printed',
  parameters: {
    type: 'object',
    properties: { command: { type: 'string', description: 'The command' } },
    required: ['command'],
    additionalProperties: false,
  },
}

/** Throws what the command printed when it fails. */
export const runStep = (command) => {
  try {
    return execSync(command, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  } catch (error) {
    throw new Error(String(error.stderr).trim())
  }
}

/** The same for libraries that want an error as a text. */
export const tryStep = (command) => {
  try {
    return { text: runStep(command), failed: false }
  } catch (error) {
    return { text: error.message, failed: true }
  }
}

/** Each turn's counts, added up. */
export const used = { input: 0, output: 0 }
export const count = (input, output) => {
  used.input += input
  used.output += output
}

/**
 * Does the deed: `work` and `march` give the text after all tools, `wait` reads until the first piece of text and hangs up by the
 * signal, `fail` meets the vendor's error.
 */
export const run = async ({ work, wait, fail = work }) => {
  if (deed === 'work' || deed === 'march') {
    console.log(await work())
    console.log(`USED ${JSON.stringify(used)}`)
  } else if (deed === 'wait') {
    const leaving = new AbortController()
    await wait(leaving.signal, () => leaving.abort()).catch((error) => {
      if (!leaving.signal.aborted) throw error
    })
    // Some libraries keep the connection of what they were told to leave for as long as the program runs.
    process.exit(0)
  } else
    await fail().catch((error) => {
      console.log(error.message, error.cause?.message ?? '')
      process.exitCode = 1
    })
}

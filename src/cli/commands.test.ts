/** Each command is found by its first word, and that word loads only its own command. */
import { expect, test } from 'bun:test'
import { Command } from 'commander'
import { commands, commandsFor } from './commands.ts'

const wordsOf = async (...args: string[]) => {
  const program = new Command()
  for (const load of commandsFor(args)) (await load())(program)
  return program.commands.map((command) => command.name())
}

const all = Object.keys(commands)

test.each(all.filter((word) => word !== 'completion'))('%s is loaded alone', async (word) => {
  expect(await wordsOf(word)).toEqual([word])
})

test.each([[[]], [['--help']], [['help', 'key']], [['completion', 'bash']], [['toString']], [['none']]])(
  'all are loaded for %j',
  async (args: string[]) => {
    expect(await wordsOf(...args)).toEqual(all)
  },
)

/** The commands by their first words. */
import type { Command } from 'commander'

type LoadCommand = () => Promise<(program: Command) => void>

/**
 * Each first word and what adds its commands, in the order of the help. No command waits for another's code to load.
 */
export const commands: Readonly<Record<string, LoadCommand>> = {
  serve: async () => (await import('./serve-command.ts')).serveCommand,
  config: async () => (await import('./config-commands.ts')).configCommands,
  connect: async () => (await import('./connect-command.ts')).connectCommand,
  ready: async () => (await import('./ready-command.ts')).readyCommand,
  top: async () => (await import('./top-command.ts')).topCommand,
  key: async () => (await import('./key-commands.ts')).keyCommands,
  wallet: async () => (await import('./wallet-commands.ts')).walletCommands,
  person: async () => (await import('./person-commands.ts')).personCommands,
  events: async () => (await import('./person-commands.ts')).eventsCommand,
  'roll-up': async () => (await import('./person-commands.ts')).rollUpCommand,
  credit: async () => (await import('./credit-commands.ts')).creditCommands,
  receipt: async () => (await import('./receipt-commands.ts')).receiptCommands,
  secret: async () => (await import('./secret-commands.ts')).secretCommands,
  migrate: async () => (await import('./migrate-command.ts')).migrateCommand,
  usage: async () => (await import('./report-commands.ts')).usageCommand,
  audit: async () => (await import('./report-commands.ts')).auditCommand,
  backup: async () => (await import('./backup-commands.ts')).backupCommand,
  restore: async () => (await import('./backup-commands.ts')).restoreCommand,
  prune: async () => (await import('./prune-command.ts')).pruneCommand,
  charge: async () => (await import('./report-commands.ts')).chargeCommand,
  models: async () => (await import('./report-commands.ts')).modelsCommand,
  completion: async () => (await import('./completion-command.ts')).completionCommand,
}

/** The code that the words need: of the command they name or, for the help and the completion, of all. */
export const commandsFor = ([word = '']: readonly string[]): readonly LoadCommand[] => {
  const own = word !== 'completion' && Object.hasOwn(commands, word) ? commands[word] : undefined
  return own === undefined ? Object.values(commands) : [own]
}

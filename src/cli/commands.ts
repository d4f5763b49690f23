/** The commands by their first words. */
import type { Command } from 'commander'

type LoadCommand = () => Promise<(program: Command) => void>

/**
 * Each first word and what adds its commands, in the order of the help. No command waits for another's code to load.
 */
export const commands: Readonly<Record<string, LoadCommand>> = {
  serve: async () => (await import('./serve/serve-command.ts')).serveCommand,
  route: async () => (await import('./serve/route-command.ts')).routeCommand,
  config: async () => (await import('./commands/config-commands.ts')).configCommands,
  connect: async () => (await import('./commands/connect-command.ts')).connectCommand,
  login: async () => (await import('./commands/login-command.ts')).loginCommand,
  ready: async () => (await import('./commands/ready-command.ts')).readyCommand,
  doctor: async () => (await import('./house/doctor-command.ts')).doctorCommand,
  top: async () => (await import('./commands/top-command.ts')).topCommand,
  key: async () => (await import('./commands/key-commands.ts')).keyCommands,
  machine: async () => (await import('./commands/machine-commands.ts')).machineCommands,
  wallet: async () => (await import('./commands/wallet-commands.ts')).walletCommands,
  budget: async () => (await import('./commands/budget-commands.ts')).budgetCommands,
  'own-key': async () => (await import('./house/own-key-commands.ts')).ownKeyCommands,
  apply: async () => (await import('./house/apply-command.ts')).applyCommand,
  import: async () => (await import('./house/import-command.ts')).importCommand,
  person: async () => (await import('./commands/person-commands.ts')).personCommands,
  alert: async () => (await import('./commands/alert-commands.ts')).alertCommands,
  team: async () => (await import('./commands/team-commands.ts')).teamCommands,
  events: async () => (await import('./commands/events-command.ts')).eventsCommand,
  'roll-up': async () => (await import('./commands/person-commands.ts')).rollUpCommand,
  credit: async () => (await import('./commands/credit-commands.ts')).creditCommands,
  payers: async () => (await import('./house/payers-command.ts')).payersCommand,
  bill: async () => (await import('./commands/bill-commands.ts')).billCommands,
  receipt: async () => (await import('./commands/receipt-commands.ts')).receiptCommands,
  secret: async () => (await import('./commands/secret-commands.ts')).secretCommands,
  migrate: async () => (await import('./house/migrate-command.ts')).migrateCommand,
  cell: async () => (await import('./house/cell-commands.ts')).cellCommands,
  simulate: async () => (await import('./house/simulate-command.ts')).simulateCommand,
  calls: async () => (await import('./commands/calls-command.ts')).callsCommand,
  latency: async () => (await import('./commands/latency-command.ts')).latencyCommand,
  batch: async () => (await import('./commands/batch-commands.ts')).batchCommands,
  usage: async () => (await import('./commands/report-commands.ts')).usageCommand,
  audit: async () => (await import('./commands/report-commands.ts')).auditCommand,
  backup: async () => (await import('./commands/backup-commands.ts')).backupCommand,
  restore: async () => (await import('./commands/backup-commands.ts')).restoreCommand,
  prune: async () => (await import('./house/prune-command.ts')).pruneCommand,
  charge: async () => (await import('./commands/report-commands.ts')).chargeCommand,
  models: async () => (await import('./commands/report-commands.ts')).modelsCommand,
  completion: async () => (await import('./commands/completion-command.ts')).completionCommand,
}

/** The code that the words need: of the command they name or, for the help and the completion, of all. */
export const commandsFor = ([word = '']: readonly string[]): readonly LoadCommand[] => {
  const own = word !== 'completion' && Object.hasOwn(commands, word) ? commands[word] : undefined
  return own === undefined ? Object.values(commands) : [own]
}

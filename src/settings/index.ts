/** The settings: every environment variable, its form, its default and what it means. docs/settings.md is generated from them. */
import { assetSettings } from './assets.ts'
import { backupSettings } from './backup.ts'
import { callSettings } from './calls.ts'
import { consoleSettings } from './console.ts'
import { serverSettings } from './server.ts'
import type { SettingGroup } from './setting.ts'
import { stripeSettings } from './stripe.ts'
import { watchSettings } from './watch.ts'

export const settings = {
  server: serverSettings,
  watch: watchSettings,
  calls: callSettings,
  stripe: stripeSettings,
  assets: assetSettings,
  backup: backupSettings,
  console: consoleSettings,
} as const satisfies SettingGroup

/** Every address of the console's API, below /console/api, with who may call it. */
import { companyRoutes } from './company.ts'
import type { ConsoleRoute } from './here.ts'
import { keyRoutes } from './keys.ts'
import { limitRoutes } from './limits.ts'
import { modelRoutes } from './models.ts'
import { operatorRoutes } from './operator.ts'
import { systemRoutes } from './operator-system.ts'
import { overviewRoutes } from './overview.ts'
import { passkeyRoutes } from './passkeys.ts'
import { paymentRoutes } from './payments.ts'
import { receiptRoutes } from './receipts.ts'
import { sessionRoutes } from './sessions.ts'
import { signInRoutes } from './sign-in.ts'
import { statementRoutes } from './statements.ts'
import { teamRoutes } from './team.ts'
import { tenantRoutes } from './tenants.ts'
import { totpRoutes } from './totp.ts'
import { usageRoutes } from './usage.ts'
import { walletRoutes } from './wallet.ts'

export const consoleRoutes: readonly ConsoleRoute[] = [
  ...signInRoutes,
  ...sessionRoutes,
  ...totpRoutes,
  ...passkeyRoutes,
  ...companyRoutes,
  ...overviewRoutes,
  ...walletRoutes,
  ...paymentRoutes,
  ...limitRoutes,
  ...keyRoutes,
  ...tenantRoutes,
  ...statementRoutes,
  ...usageRoutes,
  ...receiptRoutes,
  ...modelRoutes,
  ...teamRoutes,
  ...operatorRoutes,
  ...systemRoutes,
]

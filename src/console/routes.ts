/** Every address of the console's API, below /console/api, with who may call it. */
import { actRoutes } from './acts.ts'
import { enterRoutes } from './cells/enter.ts'
import { leaveRoutes } from './cells/leave.ts'
import type { ConsoleRoute } from './here.ts'
import { overviewRoutes } from './overview.ts'
import { ownUseRoutes } from './own-use.ts'
import { playRoutes } from './playground.ts'
import { companyRoutes } from './sign-in/company.ts'
import { passkeyRoutes } from './sign-in/passkeys.ts'
import { sessionRoutes } from './sign-in/sessions.ts'
import { signInRoutes } from './sign-in/sign-in.ts'
import { totpRoutes } from './sign-in/totp.ts'

export const consoleRoutes: readonly ConsoleRoute[] = [
  ...signInRoutes,
  ...sessionRoutes,
  ...totpRoutes,
  ...passkeyRoutes,
  ...companyRoutes,
  ...leaveRoutes,
  ...enterRoutes,
  ...overviewRoutes,
  ...actRoutes,
  ...ownUseRoutes,
  ...playRoutes,
]

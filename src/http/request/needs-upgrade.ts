/** The WebSocket's address, requested without an upgrade. */
import { refuse } from '../../core/refusal.ts'
import type { Handler } from '../route/route.ts'

/** The 426 for a request that does not ask for an upgrade. */
export const needsUpgrade: Handler = () =>
  Promise.reject(
    refuse(
      'upgrade_required',
      'This address is a WebSocket; connect with wss:// and send requests as messages.',
      {
        headers: { upgrade: 'websocket', connection: 'Upgrade' },
      },
    ),
  )

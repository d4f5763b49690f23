/**
 * The console's page: its providers, and which part is shown at which address. Each part is loaded when it is first
 * shown.
 */
import './styles.ts'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  type RouteComponent,
  RouterProvider,
} from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { queries } from './parts/api.ts'
import { Shell } from './parts/shell.tsx'
import { theme, variables } from './parts/theme.ts'
import { Failed } from './parts/ui.tsx'
import { NotFound } from './parts/unread.tsx'

const base = createRootRoute({ component: Outlet })
const inside = createRoute({ getParentRoute: () => base, id: 'inside', component: Shell })

/** Every member of the query is a string, and the address describes the view. */
const texts = (search: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]))

/** The pages outside the frame, for who is not signed in. */
const outside = {
  '/sign-in': lazyRouteComponent(() => import('./pages/sign-in.tsx'), 'SignIn'),
  '/sign-up': lazyRouteComponent(() => import('./pages/sign-up.tsx'), 'SignUp'),
  '/link': lazyRouteComponent(() => import('./pages/link.tsx'), 'Link'),
  '/enter': lazyRouteComponent(() => import('./pages/cells/enter.tsx'), 'Enter'),
  '/use': lazyRouteComponent(() => import('./pages/use.tsx'), 'Use'),
}

/** The pages of who is signed in. */
const framed = {
  '/': lazyRouteComponent(() => import('./pages/overview.tsx'), 'Overview'),
  '/keys': lazyRouteComponent(() => import('./pages/keys.tsx'), 'Keys'),
  '/keys/$id': lazyRouteComponent(() => import('./pages/key.tsx'), 'KeyPage'),
  '/calls': lazyRouteComponent(() => import('./pages/calls/calls.tsx'), 'Calls'),
  '/latency': lazyRouteComponent(() => import('./pages/calls/latency.tsx'), 'LatencyPage'),
  '/batches': lazyRouteComponent(() => import('./pages/calls/batches.tsx'), 'Batches'),
  '/usage': lazyRouteComponent(() => import('./pages/usage.tsx'), 'Usage'),
  '/tenants': lazyRouteComponent(() => import('./pages/tenants.tsx'), 'Tenants'),
  '/tenants/$id': lazyRouteComponent(() => import('./pages/tenant.tsx'), 'TenantPage'),
  '/statement': lazyRouteComponent(() => import('./pages/statement.tsx'), 'Statement'),
  '/bills': lazyRouteComponent(() => import('./pages/bills.tsx'), 'Bills'),
  '/wallet': lazyRouteComponent(() => import('./pages/wallet.tsx'), 'Wallet'),
  '/rules': lazyRouteComponent(() => import('./pages/limits.tsx'), 'Limits'),
  '/alerts': lazyRouteComponent(() => import('./pages/alerts/alerts.tsx'), 'Alerts'),
  '/playground': lazyRouteComponent(() => import('./pages/playground.tsx'), 'Playground'),
  '/models': lazyRouteComponent(() => import('./pages/models.tsx'), 'Models'),
  '/team': lazyRouteComponent(() => import('./pages/team.tsx'), 'Team'),
  '/agents': lazyRouteComponent(() => import('./pages/agents/agents.tsx'), 'Agents'),
  '/device': lazyRouteComponent(() => import('./pages/agents/device.tsx'), 'Device'),
  '/activity': lazyRouteComponent(() => import('./pages/activity.tsx'), 'Activity'),
  '/settings': lazyRouteComponent(() => import('./pages/settings.tsx'), 'Settings'),
  '/operator': lazyRouteComponent(() => import('./pages/operator.tsx'), 'Operator'),
  '/vendors': lazyRouteComponent(() => import('./pages/vendors.tsx'), 'Vendors'),
  '/payers': lazyRouteComponent(() => import('./pages/payers.tsx'), 'Payers'),
  '/prices': lazyRouteComponent(() => import('./pages/prices.tsx'), 'Prices'),
  '/setup': lazyRouteComponent(() => import('./pages/setup.tsx'), 'SetupPage'),
  '/system': lazyRouteComponent(() => import('./pages/system.tsx'), 'System'),
  $: NotFound,
}

const tree = base.addChildren([
  ...Object.entries(outside).map(([path, component]) =>
    createRoute({ getParentRoute: () => base, path, component }),
  ),
  inside.addChildren(
    Object.entries<RouteComponent>(framed).map(([path, component]) =>
      createRoute({ getParentRoute: () => inside, path, component, validateSearch: texts }),
    ),
  ),
])

const router = createRouter({
  routeTree: tree,
  basepath: '/console',
  defaultPreload: 'intent',
  defaultErrorComponent: ({ error }) => <Failed error={error} />,
})

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''
// The scroll lock of the dialogs looks for the nonce here.
Object.assign(globalThis, { __webpack_nonce__: nonce })
const place = document.getElementById('root')
if (place !== null)
  createRoot(place).render(
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>,
  )

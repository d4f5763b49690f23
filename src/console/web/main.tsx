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

const below = <Path extends string>(path: Path, component: RouteComponent) =>
  createRoute({ getParentRoute: () => inside, path, component, validateSearch: texts })

const signIn = lazyRouteComponent(() => import('./pages/sign-in.tsx'), 'SignIn')
const outside = [
  createRoute({ getParentRoute: () => base, path: '/sign-in', component: signIn }),
  createRoute({
    getParentRoute: () => base,
    path: '/sign-up',
    component: lazyRouteComponent(() => import('./pages/sign-up.tsx'), 'SignUp'),
  }),
  createRoute({
    getParentRoute: () => base,
    path: '/link',
    component: lazyRouteComponent(() => import('./pages/link.tsx'), 'Link'),
  }),
  createRoute({
    getParentRoute: () => base,
    path: '/use',
    component: lazyRouteComponent(() => import('./pages/use.tsx'), 'Use'),
  }),
]

const tree = base.addChildren([
  ...outside,
  inside.addChildren([
    below(
      '/',
      lazyRouteComponent(() => import('./pages/overview.tsx'), 'Overview'),
    ),
    below(
      '/keys',
      lazyRouteComponent(() => import('./pages/keys.tsx'), 'Keys'),
    ),
    below(
      '/keys/$id',
      lazyRouteComponent(() => import('./pages/key.tsx'), 'KeyPage'),
    ),
    below(
      '/calls',
      lazyRouteComponent(() => import('./pages/calls/calls.tsx'), 'Calls'),
    ),
    below(
      '/latency',
      lazyRouteComponent(() => import('./pages/calls/latency.tsx'), 'LatencyPage'),
    ),
    below(
      '/batches',
      lazyRouteComponent(() => import('./pages/calls/batches.tsx'), 'Batches'),
    ),
    below(
      '/usage',
      lazyRouteComponent(() => import('./pages/usage.tsx'), 'Usage'),
    ),
    below(
      '/tenants',
      lazyRouteComponent(() => import('./pages/tenants.tsx'), 'Tenants'),
    ),
    below(
      '/tenants/$id',
      lazyRouteComponent(() => import('./pages/tenant.tsx'), 'TenantPage'),
    ),
    below(
      '/statement',
      lazyRouteComponent(() => import('./pages/statement.tsx'), 'Statement'),
    ),
    below(
      '/bills',
      lazyRouteComponent(() => import('./pages/bills.tsx'), 'Bills'),
    ),
    below(
      '/wallet',
      lazyRouteComponent(() => import('./pages/wallet.tsx'), 'Wallet'),
    ),
    below(
      '/rules',
      lazyRouteComponent(() => import('./pages/limits.tsx'), 'Limits'),
    ),
    below(
      '/alerts',
      lazyRouteComponent(() => import('./pages/alerts/alerts.tsx'), 'Alerts'),
    ),
    below(
      '/playground',
      lazyRouteComponent(() => import('./pages/playground.tsx'), 'Playground'),
    ),
    below(
      '/models',
      lazyRouteComponent(() => import('./pages/models.tsx'), 'Models'),
    ),
    below(
      '/team',
      lazyRouteComponent(() => import('./pages/team.tsx'), 'Team'),
    ),
    below(
      '/agents',
      lazyRouteComponent(() => import('./pages/agents/agents.tsx'), 'Agents'),
    ),
    below(
      '/device',
      lazyRouteComponent(() => import('./pages/agents/device.tsx'), 'Device'),
    ),
    below(
      '/activity',
      lazyRouteComponent(() => import('./pages/activity.tsx'), 'Activity'),
    ),
    below(
      '/settings',
      lazyRouteComponent(() => import('./pages/settings.tsx'), 'Settings'),
    ),
    below(
      '/operator',
      lazyRouteComponent(() => import('./pages/operator.tsx'), 'Operator'),
    ),
    below(
      '/vendors',
      lazyRouteComponent(() => import('./pages/vendors.tsx'), 'Vendors'),
    ),
    below(
      '/payers',
      lazyRouteComponent(() => import('./pages/payers.tsx'), 'Payers'),
    ),
    below(
      '/prices',
      lazyRouteComponent(() => import('./pages/prices.tsx'), 'Prices'),
    ),
    below(
      '/setup',
      lazyRouteComponent(() => import('./pages/setup.tsx'), 'SetupPage'),
    ),
    below('$', NotFound),
    below(
      '/system',
      lazyRouteComponent(() => import('./pages/system.tsx'), 'System'),
    ),
  ]),
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

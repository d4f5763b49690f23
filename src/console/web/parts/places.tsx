/** The navigation: which pages there are, who sees them, and the public ones beside them. */
import { Box, NavLink } from '@mantine/core'
import { useLocation, useNavigate } from '@tanstack/react-router'
import { Aside } from './ui.tsx'

export type Place = { readonly to: string; readonly name: string; readonly acts?: readonly string[] }

export const places: readonly Place[] = [
  { to: '/', name: 'Overview', acts: ['read', 'read_own'] },
  { to: '/keys', name: 'Keys', acts: ['read', 'read_own'] },
  { to: '/calls', name: 'Calls', acts: ['read', 'read_own'] },
  { to: '/batches', name: 'Batches', acts: ['read', 'read_own'] },
  { to: '/latency', name: 'Latency', acts: ['read', 'read_own'] },
  { to: '/usage', name: 'Usage', acts: ['read', 'read_own'] },
  { to: '/tenants', name: 'Tenants', acts: ['tenants', 'statements'] },
  { to: '/wallet', name: 'Wallet', acts: ['wallet_read'] },
  { to: '/rules', name: 'Rules', acts: ['wallet_read'] },
  { to: '/alerts', name: 'Alerts', acts: ['wallet_read'] },
  { to: '/playground', name: 'Playground', acts: ['play'] },
  { to: '/models', name: 'Models' },
]
export const about: readonly Place[] = [
  { to: '/team', name: 'Team', acts: ['team_read'] },
  { to: '/agents', name: 'Agents', acts: ['keys', 'keys_own'] },
  { to: '/activity', name: 'Activity', acts: ['events'] },
  { to: '/settings', name: 'Settings' },
]
export const operators: readonly Place[] = [
  { to: '/operator', name: 'Accounts' },
  { to: '/vendors', name: 'Vendors' },
  { to: '/payers', name: 'Payers' },
  { to: '/prices', name: 'Models and prices' },
  { to: '/system', name: 'System' },
  { to: '/setup', name: 'Setup' },
]

/** The pages that everybody sees, which lead back here. */
const publicPages = { '/products': 'Products', '/quickstart': 'Quickstarts', '/reference': 'API reference' }

export const Outside = () => (
  <Box mb="md" component="section" aria-label="Documentation">
    <Aside fw={600} px="sm" mb={4}>
      Documentation
    </Aside>
    {Object.entries(publicPages).map(([href, name]) => (
      <NavLink
        key={href}
        href={href}
        label={name}
        variant="subtle"
        className="place"
        style={{ borderRadius: 8 }}
      />
    ))}
  </Box>
)

export const Places = ({
  title,
  list,
  acts,
}: {
  title?: string
  list: readonly Place[]
  acts: readonly string[]
}) => {
  const { pathname } = useLocation()
  const navigate = useNavigate()
  const shown = list.filter(
    (place) => place.acts === undefined || place.acts.some((act) => acts.includes(act)),
  )
  return (
    <Box mb="md">
      {title !== undefined && (
        <Aside fw={600} px="sm" mb={4}>
          {title}
        </Aside>
      )}
      {shown.map(({ to, name }) => {
        const active = to === '/' ? pathname === '/' : pathname === to || pathname.startsWith(`${to}/`)
        return (
          <NavLink
            key={to}
            href={`/console${to === '/' ? '' : to}`}
            label={name}
            active={active}
            variant="subtle"
            className="place"
            aria-current={active ? 'page' : undefined}
            fw={active ? 650 : 450}
            style={{ borderRadius: 8 }}
            onClick={(event) => {
              // With one of these keys the browser opens the page beside this one.
              if (event.ctrlKey || event.metaKey || event.shiftKey) return
              event.preventDefault()
              void navigate({ to })
            }}
          />
        )
      })}
    </Box>
  )
}

/** The frame around all pages for a person who is signed in: navigation, organisation, person. */
import {
  ActionIcon,
  AppShell,
  Box,
  Burger,
  Button,
  Card,
  Group,
  Stack,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Outlet, useLocation, useNavigate } from '@tanstack/react-router'
import { Activity, lazy, Suspense, useEffect, useState } from 'react'
import type { SessionShown } from '../../schema/session.ts'
import { sessionQuery } from './api.ts'
import { about, Outside, operators, Places, places } from './places.tsx'
import { Shortcuts } from './shortcuts.tsx'
import { Elsewhere } from './sign-in/elsewhere.tsx'
import { Interrupted, ownerOf } from './sign-in/entered.ts'
import { Aside, Failed, Loading, SmallButton } from './ui.tsx'
import { useChoose, useSignOut } from './use-session.ts'

/** A native disclosure, because the library's menu would be a tenth of the first load. */
const PersonMenu = ({ session }: { session: SessionShown }) => {
  const choose = useChoose()
  const signOut = useSignOut()
  const [open, setOpen] = useState(false)
  const several = session.cell !== null
  return (
    <details className="menu" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Text span truncate size="sm" visibleFrom="xs">
          {session.person?.email}
        </Text>
        <Text span size="sm" hiddenFrom="xs">
          Account
        </Text>
      </summary>
      <Card withBorder shadow="md" padding="xs" className="menu-body">
        <Stack gap={4}>
          <Aside px="xs">{session.person?.email}</Aside>
          {several && <Aside px="xs">Cell {session.cell}, this one</Aside>}
          {(several || session.organisations.length > 1) &&
            session.organisations.map(({ id, name, role }) => (
              <Button
                key={id}
                variant="subtle"
                size="xs"
                justify="flex-start"
                onClick={() => choose.mutate(id)}
              >
                {name} ({role})
              </Button>
            ))}
          {several && open && <Elsewhere />}
          <Failed error={choose.error ?? signOut.error} />
          <SmallButton loading={signOut.isPending} onClick={() => signOut.mutate()}>
            Sign out
          </SmallButton>
        </Stack>
      </Card>
    </details>
  )
}

const SchemeButton = () => {
  const { setColorScheme } = useMantineColorScheme()
  const dark = useComputedColorScheme('light') === 'dark'
  return (
    <ActionIcon
      variant="default"
      size={30}
      aria-label={dark ? 'Use light colours' : 'Use dark colours'}
      onClick={() => setColorScheme(dark ? 'light' : 'dark')}
    >
      {dark ? '☀' : '☾'}
    </ActionIcon>
  )
}

const ActsFor = ({ session }: { session: SessionShown }) => {
  const own = session.organisations[0]
  const choose = useChoose()
  if (session.organisation?.acts_for !== true) return null
  return (
    <Group bg="yellow.1" c="dark.9" px="md" py={6} gap="sm" role="status">
      <Text size="sm">
        You act for <b>{session.organisation.name}</b> as an operator. What you do is recorded as such.
      </Text>
      {own !== undefined && (
        <Button
          size="compact-xs"
          color="dark"
          loading={choose.isPending}
          onClick={() => choose.mutate(own.id)}
        >
          Back to {own.name}
        </Button>
      )}
      <Failed error={choose.error} />
    </Group>
  )
}

const Top = ({ session, opened, toggle }: { session: SessionShown; opened: boolean; toggle: () => void }) => (
  <Group h="100%" px="md" justify="space-between" wrap="nowrap">
    <Group gap="sm" wrap="nowrap">
      <Burger
        opened={opened}
        onClick={toggle}
        hiddenFrom="sm"
        size="sm"
        aria-label="Navigation"
        aria-expanded={opened}
      />
      <Text fw={700} size="lg">
        Turnpike
      </Text>
      <Text c="dimmed" size="sm" visibleFrom="xs" truncate>
        {session.organisation?.name}
      </Text>
    </Group>
    <Group gap="xs" wrap="nowrap">
      <SchemeButton />
      <PersonMenu session={session} />
    </Group>
  </Group>
)

const Frame = ({ session }: { session: SessionShown }) => {
  const [opened, { toggle, close }] = useDisclosure(false)
  const { pathname } = useLocation()
  const [shownAt, setShownAt] = useState(pathname)
  if (shownAt !== pathname) {
    // Another page was chosen, so the navigation of small screens closes.
    setShownAt(pathname)
    close()
  }
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 216, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="lg"
    >
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <AppShell.Header>
        <Top session={session} opened={opened} toggle={toggle} />
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label="Pages">
        <Box className="places">
          <Places list={places} acts={session.acts} />
          <Places title="Organisation" list={about} acts={session.acts} />
          {session.person?.operator === true && (
            <Places title="Operator" list={operators} acts={session.acts} />
          )}
          <Outside />
        </Box>
      </AppShell.Navbar>
      <Shortcuts
        places={[...places, ...about, ...(session.person?.operator === true ? operators : [])]}
        acts={session.acts}
      />
      <AppShell.Main id="main">
        <ActsFor session={session} />
        <Box maw={1180} mx="auto">
          <Outlet />
        </Box>
      </AppShell.Main>
    </AppShell>
  )
}

const SignIn = lazy(async () => ({ default: (await import('../pages/sign-in.tsx')).SignIn }))

/** The session as it was when somebody was signed in last, and whether nobody is now. */
const useSession = () => {
  const { data, error } = useQuery(sessionQuery)
  const [last, setLast] = useState<SessionShown>()
  if (data !== undefined && data.person !== null && data !== last) setLast(data)
  return { last, out: data?.person === null, error }
}

/**
 * Sends a person who is not signed in to the sign-in page. If the session ends while a page is open, they sign in over that
 * page, hidden and at rest: what was typed there is not lost.
 */
export const Shell = () => {
  const { last, out, error } = useSession()
  const navigate = useNavigate()
  const { pathname, searchStr } = useLocation()
  const address = `${pathname}${searchStr}`
  const leaves = out && last === undefined
  useEffect(() => {
    // While the sign-in page loads, the address has already changed but this page is still there.
    if (leaves && !address.startsWith('/sign-in'))
      void navigate({ to: '/sign-in', search: address === '/' ? {} : { to: address } })
  }, [leaves, navigate, address])
  if (last === undefined && error !== null) return <Failed error={error} />
  if (last === undefined)
    return (
      <Box p="xl" component="main">
        <Loading />
      </Box>
    )
  return (
    <>
      <Activity key={ownerOf(last)} mode={out ? 'hidden' : 'visible'}>
        <Frame session={last} />
      </Activity>
      {out && (
        <Interrupted value={last}>
          <Suspense fallback={<Loading />}>
            <SignIn />
          </Suspense>
        </Interrupted>
      )}
    </>
  )
}

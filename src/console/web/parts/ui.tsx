/** Small parts of all pages: amounts, times, states, empty places, errors. */
import {
  Alert,
  Anchor,
  Box,
  Button,
  type ButtonProps,
  Card,
  Center,
  Group,
  Skeleton,
  Stack,
  Text,
  type TextProps,
  Title,
} from '@mantine/core'
import type { ReactNode } from 'react'
import { ApiError } from './api.ts'
import { agoText, shortUsd, timeText } from './format.ts'
import { useCopy } from './use-copy.ts'

/** What is said beside or below something, small and dimmed. */
export const Aside = (props: TextProps & { readonly title?: string; readonly children: ReactNode }) => (
  <Text size="xs" c="dimmed" {...props} />
)

/** The same in the size of other text. */
export const Note = (props: TextProps & { readonly title?: string; readonly children: ReactNode }) => (
  <Text size="sm" c="dimmed" {...props} />
)

/** What has happened, or with `alert` what is wrong: read out by screen readers. */
export const Told = ({ alert = false, children }: { alert?: boolean; children: ReactNode }) => (
  <Text size="sm" role={alert ? 'alert' : 'status'}>
    {children}
  </Text>
)

type ButtonOf = Omit<ButtonProps, 'variant'> & {
  readonly onClick: () => void
  readonly 'aria-label'?: string
  readonly children: ReactNode
}

/** A button in a row of a table. */
export const RowButton = (props: ButtonOf) => <Button size="compact-sm" variant="default" {...props} />

/** A button at the head or the foot of a panel. */
export const SmallButton = (props: ButtonOf) => <Button size="xs" variant="default" {...props} />

/** An amount; pointing at it shows the exact value. */
export const Money = ({ usd, strong = false }: { usd: string; strong?: boolean }) => (
  <Text span inherit fw={strong ? 600 : undefined} title={`${usd} USD`} className="number">
    {shortUsd(usd)}
  </Text>
)

export const When = ({ at, ago = false }: { at: string | null; ago?: boolean }) =>
  at === null ? (
    <Text span inherit c="dimmed">
      never
    </Text>
  ) : (
    <time dateTime={at} title={at.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')}>
      {ago ? agoText(at) : timeText(at)}
    </time>
  )

export const PageHead = ({
  title,
  about,
  children,
}: {
  title: string
  about?: ReactNode
  children?: ReactNode
}) => (
  <Group justify="space-between" align="flex-start" mb="lg" gap="sm">
    <Box>
      <Title order={1} size="h2">
        {title}
      </Title>
      {about !== undefined && (
        <Text c="dimmed" size="sm" mt={2} maw={680}>
          {about}
        </Text>
      )}
    </Box>
    <Group gap="xs">{children}</Group>
  </Group>
)

/** The card of a page for who is not signed in. */
export const Front = ({
  title = 'Turnpike',
  about,
  children,
}: {
  title?: string
  about?: string
  children: ReactNode
}) => (
  <Center mih="100vh" p="md" component="main">
    <Card withBorder w={420} maw="100%" padding="xl" radius="lg">
      <Title order={1} size="h2" mb={about === undefined ? 'lg' : 0}>
        {title}
      </Title>
      {about !== undefined && <Note mb="lg">{about}</Note>}
      {children}
    </Card>
  </Center>
)

export const Panel = ({
  title,
  children,
  action,
}: {
  title?: string
  children: ReactNode
  action?: ReactNode
}) => (
  <Card withBorder radius="md" padding="lg">
    {title !== undefined && (
      <Group justify="space-between" mb="md">
        <Title order={2} size="h5">
          {title}
        </Title>
        {action}
      </Group>
    )}
    {children}
  </Card>
)

/** One number with its name. */
export const Figure = ({
  name,
  children,
  below,
}: {
  name: string
  children: ReactNode
  below?: ReactNode
}) => (
  <Card withBorder radius="md" padding="md">
    <Text size="sm" c="dimmed">
      {name}
    </Text>
    <Text size="xl" fw={650} mt={4} className="number">
      {children}
    </Text>
    {below !== undefined && <Aside mt={4}>{below}</Aside>}
  </Card>
)

/** An empty place, with advice on what to do. */
export const Empty = ({
  title,
  children,
  action,
}: {
  title: string
  children: ReactNode
  action?: ReactNode
}) => (
  <Stack align="center" gap={6} py={48} px="md">
    <Text fw={600}>{title}</Text>
    <Text c="dimmed" size="sm" ta="center" maw={460}>
      {children}
    </Text>
    {action !== undefined && <Box mt="sm">{action}</Box>}
  </Stack>
)

/** What went wrong, in the server's words, with the request id that the operator needs. */
export const Failed = ({ error }: { error: unknown }) => {
  if (error === null || error === undefined) return null
  const known = error instanceof ApiError ? error : undefined
  return (
    <Alert color="red" variant="outline" role="alert" className="failed">
      {known?.message ?? 'Something went wrong in this page; reload it.'}
      {known !== undefined && known.requestId !== '' && (
        <Text size="xs" mt={4} className="mono">
          Request {known.requestId}
        </Text>
      )}
    </Alert>
  )
}

export const Loading = ({ rows = 4 }: { rows?: number }) => (
  <Stack gap="sm" aria-busy="true" aria-label="Loading">
    {Array.from({ length: rows }, (_, at) => `row ${at}`).map((name) => (
      <Skeleton key={name} height={name === 'row 0' ? 40 : 28} radius="sm" />
    ))}
  </Stack>
)

/** A text that is copied when it is pressed. */
export const Copy = ({ text, shown = text, name }: { text: string; shown?: string; name: string }) => {
  const { told, copy } = useCopy(text)
  return (
    <Anchor component="button" type="button" size="sm" className="mono" onClick={copy} title={text}>
      <span className="hide">Copy {name}: </span>
      {told ?? shown}
    </Anchor>
  )
}

/** Code with a button that copies it. */
export const Code = ({ text, name }: { text: string; name: string }) => {
  const { told, copy } = useCopy(text)
  return (
    <Box pos="relative">
      <pre className="code" tabIndex={0} role="group" aria-label={name}>
        {text}
      </pre>
      <Button
        size="compact-xs"
        variant="default"
        pos="absolute"
        top={8}
        right={8}
        onClick={copy}
        aria-label={told ?? `Copy ${name}`}
      >
        {told ?? 'Copy'}
      </Button>
    </Box>
  )
}

/** Shown in place of content that is still loading, does not exist, or failed to load. */
import { Button, Stack } from '@mantine/core'
import { Link, useLocation } from '@tanstack/react-router'
import { ApiError } from './api.ts'
import { Failed, Loading, PageHead } from './ui.tsx'

export const NotFound = () => (
  <>
    <PageHead title="Not found" about="There is nothing at this address, or it is not yours." />
    <Button component={Link} to="/" variant="default">
      Go to the overview
    </Button>
  </>
)

/** In place of something that is still loading, or could not be loaded. */
export const Unread = ({ error, rows = 6 }: { error: unknown; rows?: number }) => {
  const { pathname, searchStr } = useLocation()
  if (error === null) return <Loading rows={rows} />
  // An address that was kept may ask for what is no more, such as the page of a list after a row that has gone.
  const isOfAddress = searchStr !== '' && error instanceof ApiError && error.status === 400
  return (
    <Stack align="start">
      <Failed error={error} />
      {isOfAddress && (
        <Button component={Link} to={pathname} variant="default">
          Show the page from its beginning
        </Button>
      )}
    </Stack>
  )
}

/** The same for a whole page about one thing, which may not exist. */
export const UnreadPage = ({ error }: { error: unknown }) =>
  error instanceof ApiError && error.status === 404 ? <NotFound /> : <Unread error={error} />

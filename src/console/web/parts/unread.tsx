/** Shown in place of content that is still loading, does not exist, or failed to load. */
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
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
export const Unread = ({ error, rows = 6 }: { error: unknown; rows?: number }) =>
  error === null ? <Loading rows={rows} /> : <Failed error={error} />

/** The same for a whole page about one thing, which may not exist. */
export const UnreadPage = ({ error }: { error: unknown }) =>
  error instanceof ApiError && error.status === 404 ? <NotFound /> : <Unread error={error} />
